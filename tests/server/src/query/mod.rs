//! The query language: filters, projections, sorts.

pub(crate) mod bits;
pub(crate) mod filter;
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

/// What one command gives to every expression and comparison in it: variables, collation and the time.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    /// The command's `let` variables, and those of an enclosing `$lookup`.
    pub(crate) variables: BTreeMap<String, Bson>,
    /// How strings compare.
    pub(crate) collation: Option<Collation>,
    /// `$$NOW`: one time for the whole command.
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
    /// An environment with a collation and nothing else.
    pub(crate) fn with_collation(collation: Option<Collation>) -> Env {
        Env {
            collation,
            ..Env::default()
        }
    }
}
