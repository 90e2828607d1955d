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

pub(crate) use filter::{Filter, check_upsert};

use crate::error::Result;
use crate::refusal::{ServerProfile, queries};
use crate::storage::Collection;
use crate::text::index::TextIndex;
use crate::value::collation::Collation;
use bson::{Bson, DateTime};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The context of the expressions and comparisons of one command.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    /// The command's `let` variables and those of an enclosing `$lookup`.
    pub(crate) variables: BTreeMap<String, Bson>,
    /// The collation of string comparisons. `None`: binary comparison.
    pub(crate) collation: Option<Collation>,
    /// `$$NOW`, constant within a command.
    pub(crate) now: DateTime,
    /// The text index of the collection that is read.
    pub(crate) text_index: Option<Arc<TextIndex>>,
    /// Whether the stages of Atlas Search are enabled.
    pub(crate) search: bool,
    /// The version and the deployment that the request is checked against.
    pub(crate) profile: ServerProfile,
    /// Whether the command has `apiStrict`.
    pub(crate) strict: bool,
}

impl Default for Env {
    fn default() -> Self {
        Env {
            variables: BTreeMap::new(),
            collation: None,
            now: DateTime::now(),
            text_index: None,
            search: false,
            profile: ServerProfile::default(),
            strict: false,
        }
    }
}

impl Env {
    /// Sets the text index to that of a collection.
    pub(crate) fn set_text_index(&mut self, collection: Option<&Collection>) {
        self.text_index = collection.and_then(TextIndex::of).map(Arc::new);
    }

    /// The text index; fails if the collection has none.
    pub(crate) fn required_text_index(&self) -> Result<&TextIndex> {
        self.text_index
            .as_deref()
            .ok_or_else(|| queries::TEXT_INDEX.error(&[]))
    }

    /// An environment without variables, of the newest version.
    pub(crate) fn with_collation(collation: Option<Collation>) -> Env {
        Env {
            collation,
            ..Env::default()
        }
    }

    /// An environment without variables and without a collation.
    pub(crate) fn of(profile: ServerProfile) -> Env {
        Env {
            profile,
            ..Env::default()
        }
    }
}
