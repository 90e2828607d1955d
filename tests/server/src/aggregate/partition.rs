//! Partitions of the documents of `$setWindowFields` and `$fill`.

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::Env;
use crate::value::compare::{compare, equal};
use bson::{Bson, Document};

/// Divides documents by the value of an expression. Partitions are in the order of their values,
/// and documents keep their order. A missing value equals null.
pub(super) fn partitions(
    by: Option<&Expression>,
    documents: Vec<Document>,
    env: &Env,
) -> Result<Vec<Vec<Document>>> {
    let Some(by) = by else {
        return Ok(vec![documents]);
    };
    let mut keyed = Vec::with_capacity(documents.len());
    for document in documents {
        let key = match by.evaluate(&document, env)? {
            Bson::Undefined => Bson::Null,
            Bson::Array(_) => {
                return Err(Error::type_mismatch(
                    "An expression used to partition cannot evaluate to value of type array",
                ));
            }
            key => key,
        };
        keyed.push((key, document));
    }
    let collation = env.collation.as_ref();
    keyed.sort_by(|a, b| compare(&a.0, &b.0, collation));
    let mut partitions: Vec<(Bson, Vec<Document>)> = Vec::new();
    for (key, document) in keyed {
        match partitions.last_mut() {
            Some((value, partition)) if equal(value, &key, collation) => partition.push(document),
            _ => partitions.push((key, vec![document])),
        }
    }
    Ok(partitions.into_iter().map(|(_, documents)| documents).collect())
}
