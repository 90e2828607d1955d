//! Logs without the feature `tracing`: there are none.

use super::Listeners;
use crate::types::variables::Variables;

/// Returns the listeners unchanged.
pub(crate) fn attach(
    listeners: Listeners,
    _max_document_length: Option<usize>,
    _variables: Variables<'_>,
    _tag: Option<String>,
) -> Listeners {
    listeners
}

/// Logs nothing.
pub(crate) fn connection_string_warnings(_warnings: &[String]) {}
