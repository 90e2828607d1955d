//! The untyped trees below the typed terms: BSON and dotted names only.

pub(crate) mod document_item;
pub(crate) mod filter;
pub(crate) mod part;
pub(crate) mod path;
pub(crate) mod sink;
pub(crate) mod update;
