//! Reads: documents, pages of them, counts and distinct values.

pub(crate) mod distinct;
pub(crate) mod documents;
pub(crate) mod find;
pub(crate) mod keyset;
pub(crate) mod one;
pub(crate) mod page;
pub(crate) mod token;
pub(crate) mod token_key;
pub(crate) mod totals;
