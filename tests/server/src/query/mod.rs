//! The query language: filters, projections and sorts.

pub(crate) mod bits;
pub(crate) mod filter;
pub(crate) mod geo;
pub(crate) mod json_schema;
pub(crate) mod matcher;
pub(crate) mod parse;
pub(crate) mod path;
pub(crate) mod projection;
pub(crate) mod regex;
pub(crate) mod sort;

pub(crate) use filter::Filter;

use crate::value::collation::Collation;
use bson::{Bson, DateTime};
use std::collections::BTreeMap;

/// The context of the expressions and comparisons of one command.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    /// The command's `let` variables and those of an enclosing `$lookup`.
    pub(crate) variables: BTreeMap<String, Bson>,
    /// The collation of string comparisons. `None`: binary comparison.
    pub(crate) collation: Option<Collation>,
    /// `$$NOW`, constant within a command.
    pub(crate) now: DateTime,
}

impl Default for Env {
    fn default() -> Self {
        Env {
            variables: BTreeMap::new(),
            collation: None,
            now: DateTime::now(),
        }
    }
}

impl Env {
    /// An environment without variables.
    pub(crate) fn with_collation(collation: Option<Collation>) -> Env {
        Env {
            collation,
            ..Env::default()
        }
    }
}
