//! array operators.

use super::{Function, NamedFunction};

pub(super) const FUNCTIONS: &[Function] = &[];
pub(super) const NAMED: &[NamedFunction] = &[];
pub(crate) fn filter_limit(_: &bson::Bson) -> crate::error::Result<usize> {
    Ok(usize::MAX)
}
