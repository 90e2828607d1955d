//! Declared indexes as they apply to a collection with a default collation. No I/O.
//!
//! An index without a collation inherits the default collation of its collection, and the server
//! lists it with it. Indexes of the kinds `text` and `2d` have the collation `simple`: the server
//! refuses another one, also an inherited one.

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::SchemaError,
    },
    driver::CollectionSpecification,
    models::index::normal::{NormalCollation, has_simple_collation, is_truthy, normal_collation},
    schema::declared::{Declared, DeclaredCollection},
};

/// The default collation of a collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DefaultCollation<'a> {
    /// Strings are compared by their bytes.
    Simple,
    Other(&'a Document),
    /// The options of the collection cannot be read.
    Unknown,
}

impl<'a> DefaultCollation<'a> {
    /// The collation of the existing collection, or of the one that the declared options create.
    pub(super) fn of_options(
        declared: &'a DeclaredCollection,
        existing: Option<&'a CollectionSpecification>,
    ) -> Self {
        let options = match existing {
            Some(existing) => Some(&existing.options),
            None => declared.options(),
        };
        Self::of(options.and_then(|options| options.get_document("collation").ok()))
    }

    /// The collation of the index on `_id`, which is that of its collection. Time series and
    /// clustered collections have no such index.
    pub(super) fn of_indexes(listed: &'a [Document]) -> Self {
        let is_on_id = |index: &&Document| {
            index.get_str("name").is_ok_and(|name| name == "_id_")
                && !index.get("clustered").is_some_and(is_truthy)
        };
        match listed.iter().find(is_on_id) {
            Some(index) => Self::of(index.get_document("collation").ok()),
            None => DefaultCollation::Unknown,
        }
    }

    fn of(collation: Option<&'a Document>) -> Self {
        match collation {
            Some(collation) if normal_collation(collation).is_some() => DefaultCollation::Other(collation),
            _ => DefaultCollation::Simple,
        }
    }
}

/// The declared indexes with the collations that they have in a collection with this default.
///
/// # Errors
/// [`SchemaError::ConflictingDeclarations`] for two indexes that have equal keys and the same
/// collation in this collection.
pub(super) fn in_collection(
    namespace: &str,
    declared: &[Declared],
    default: DefaultCollation<'_>,
) -> Result<Vec<Declared>, SchemaError> {
    let mut all: Vec<Declared> = Vec::with_capacity(declared.len());
    for index in declared {
        let index = with_default(index.clone(), default);
        let is_same = |known: &&Declared| {
            known.normal.same_signature(&index.normal) && known.has_comparable_collation(&index)
        };
        if let Some(known) = all.iter().find(is_same) {
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

fn with_default(mut index: Declared, default: DefaultCollation<'_>) -> Declared {
    if index.normal.collation != NormalCollation::Inherited {
        return index;
    }
    index.normal.collation = NormalCollation::Simple;
    if default == DefaultCollation::Simple {
        return index;
    }
    if has_simple_collation(&index.specification) {
        index.specification = with_simple_collation(&index.specification);
    } else if let DefaultCollation::Other(default) = default {
        index.normal.collation =
            normal_collation(default).map_or(NormalCollation::Simple, NormalCollation::Other);
    } else {
        index.normal.collation = NormalCollation::Unknown;
    }
    index
}

/// A specification in which the collation is explicit: the server lists none for an index with the
/// collation `simple`.
pub(super) fn with_simple_collation(specification: &Document) -> Document {
    let mut specification = specification.clone();
    if !matches!(specification.get("collation"), Some(Bson::Document(_))) {
        specification.insert("collation", doc! { "locale": "simple" });
    }
    specification
}
