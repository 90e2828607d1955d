//! Declared indexes as they apply to a collection with a default collation. No I/O.
//!
//! An index without a collation inherits the default collation of its collection, and the server lists it with it. Indexes
//! of the kinds `text` and `2d` have the collation `simple`: the server refuses another one, also an inherited one.

use crate::bson::{Bson, Document, doc};
use crate::driver::CollectionSpecification;
use crate::error::SchemaError;
use crate::index::normal::{NormalCollation, has_simple_collation, normal_collation};
use crate::schema::declared::{Declared, DeclaredCollection};

/// The default collation of a collection: of the existing one, or of the one that the declared options create. `None` for
/// `simple`.
pub(super) fn default_collation<'a>(
    declared: &'a DeclaredCollection,
    existing: Option<&'a CollectionSpecification>,
) -> Option<&'a Document> {
    let options = match existing {
        Some(existing) => Some(&existing.options),
        None => declared.options(),
    };
    let collation = options?.get_document("collation").ok()?;
    normal_collation(collation).is_some().then_some(collation)
}

/// The declared indexes with the collations that they have in a collection with this default.
///
/// # Errors
/// [`SchemaError::ConflictingDeclarations`] for two indexes that have equal keys and the same collation in this collection.
pub(super) fn in_collection(
    namespace: &str,
    declared: &[Declared],
    default: Option<&Document>,
) -> Result<Vec<Declared>, SchemaError> {
    let mut all: Vec<Declared> = Vec::with_capacity(declared.len());
    for index in declared {
        let index = with_default(index.clone(), default);
        if let Some(known) = all
            .iter()
            .find(|known| known.normal.same_signature(&index.normal))
        {
            return Err(SchemaError::ConflictingDeclarations {
                namespace: namespace.to_owned(),
                index: index.name,
                models: [known.model, index.model],
                first: Box::new(known.specification.clone()),
                second: Box::new(index.specification),
            });
        }
        all.push(index);
    }
    Ok(all)
}

fn with_default(mut index: Declared, default: Option<&Document>) -> Declared {
    if index.normal.collation != NormalCollation::Inherited {
        return index;
    }
    index.normal.collation = NormalCollation::Simple;
    if let Some(default) = default {
        if has_simple_collation(&index.specification) {
            index.specification = with_simple_collation(&index.specification);
        } else if let Some(default) = normal_collation(default) {
            index.normal.collation = NormalCollation::Other(default);
        }
    }
    index
}

/// A specification in which the collation is explicit: the server lists none for an index with the collation `simple`.
pub(super) fn with_simple_collation(specification: &Document) -> Document {
    let mut specification = specification.clone();
    if !matches!(specification.get("collation"), Some(Bson::Document(_))) {
        specification.insert("collation", doc! { "locale": "simple" });
    }
    specification
}
