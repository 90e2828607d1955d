//! An approximation of Atlas Search and Atlas Vector Search: search indexes, the operators of
//! `$search` with BM25 scores, facets, highlights, and exact vector search.

pub(crate) mod collect;
mod evaluate;
pub(crate) mod highlight;
pub(crate) mod index;
mod mapping;
pub(crate) mod operator;
mod place;
mod score;
mod tokens;
pub(crate) mod vector;

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use bson::Document;
use mapping::Mapping;
use operator::Operator;

/// The error of a search request that is malformed, or that its index does not support.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(8, message)
}

/// The positions of the matching documents with their scores, the highest score first.
pub(crate) fn ranked(
    operator: &Operator,
    documents: &[Document],
    mapping: &Mapping,
) -> Result<Vec<(usize, f64)>> {
    evaluate::search(operator, documents, mapping)
}
