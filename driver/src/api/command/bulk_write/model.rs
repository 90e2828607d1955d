//! The models of a bulk write ([CRUD specification], "Bulk Write").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::fmt;

use serde::Serialize;

use super::{
    super::{
        Deferred,
        delete::{DeleteOptions, DeleteStatement},
        insert::prepend_id,
        shown::FieldNames,
        update::{
            IntoUpdate, Modification, UpdateModification, UpdateOneOptions, UpdateStatement, replacement_of,
        },
    },
    encoded::EncodedStatement,
};
use crate::{
    Error, Result,
    bson::{self, Bson, IntoDocument, ObjectId, RawDocumentBuf, find_element},
    operation::write_command::WriteKind,
    types::{collation::Collation, hint::Hint},
};

/// One write of a bulk write; see [`Collection::bulk_write`](crate::Collection::bulk_write).
///
/// A setter of an option that the write does not support, e.g. `upsert` of a delete, causes an
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) error when the bulk write is awaited.
///
/// ```
/// use marula_driver::{WriteModel, bson::doc};
/// let models = [
///     WriteModel::insert_one(&doc! { "_id": 1, "n": 0 }),
///     WriteModel::update_many(doc! { "n": 0 }, doc! { "$inc": { "n": 1 } }).upsert(true),
///     WriteModel::delete_one(doc! { "_id": 2 }),
/// ];
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct WriteModel {
    write: Write,
    deferred: Deferred,
}

/// A write with the options of its statement.
#[derive(Clone)]
pub(in crate::api::command) enum Write {
    Insert {
        document: RawDocumentBuf,
        id: Bson,
    },
    Update {
        filter: RawDocumentBuf,
        modification: Modification,
        multi: bool,
        /// The type with the options of all updates and replacements.
        options: UpdateOneOptions,
    },
    Delete {
        filter: RawDocumentBuf,
        multi: bool,
        options: DeleteOptions,
    },
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Insert { document, .. } => f.debug_tuple("Insert").field(&FieldNames(document)).finish(),
            Self::Update {
                filter,
                modification,
                multi,
                options,
                ..
            } => f
                .debug_struct("Update")
                .field("filter", &FieldNames(filter))
                .field("update", modification)
                .field("multi", multi)
                .field("options", options)
                .finish(),
            Self::Delete {
                filter,
                multi,
                options,
            } => f
                .debug_struct("Delete")
                .field("filter", &FieldNames(filter))
                .field("multi", multi)
                .field("options", options)
                .finish(),
        }
    }
}

impl WriteModel {
    /// Inserts a document. If it has no `_id`, the driver adds an ObjectId as its first field.
    pub fn insert_one<T: Serialize + ?Sized>(document: &T) -> Self {
        let mut deferred = Deferred::default();
        let (document, id) = match with_id(document) {
            Ok(pair) => pair,
            Err(error) => {
                deferred.check(Err(error));
                (RawDocumentBuf::new(), Bson::Null)
            }
        };
        Self {
            write: Write::Insert { document, id },
            deferred,
        }
    }

    /// Updates the first document that matches, with update operators or a pipeline.
    pub fn update_one(filter: impl IntoDocument, update: impl IntoUpdate) -> Self {
        Self::update(filter, update.into_update(), false)
    }

    /// Updates all documents that match, with update operators or a pipeline.
    pub fn update_many(filter: impl IntoDocument, update: impl IntoUpdate) -> Self {
        Self::update(filter, update.into_update(), true)
    }

    /// Replaces the first document that matches. Its `_id` does not change.
    pub fn replace_one<T: Serialize>(filter: impl IntoDocument, replacement: &T) -> Self {
        Self::update(filter, replacement_of(replacement), false)
    }

    fn update(
        filter: impl IntoDocument,
        UpdateModification(modification, mut deferred): UpdateModification,
        multi: bool,
    ) -> Self {
        Self {
            write: Write::Update {
                filter: deferred.document("filter", filter),
                modification,
                multi,
                options: UpdateOneOptions::default(),
            },
            deferred,
        }
    }

    /// Deletes the first document that matches.
    pub fn delete_one(filter: impl IntoDocument) -> Self {
        Self::delete(filter, false)
    }

    /// Deletes all documents that match.
    pub fn delete_many(filter: impl IntoDocument) -> Self {
        Self::delete(filter, true)
    }

    fn delete(filter: impl IntoDocument, multi: bool) -> Self {
        let mut deferred = Deferred::default();
        Self {
            write: Write::Delete {
                filter: deferred.document("filter", filter),
                multi,
                options: DeleteOptions::default(),
            },
            deferred,
        }
    }

    /// Records an option that the write does not support. The error is returned when the bulk write
    /// is awaited.
    fn refuse(&mut self, option: &str) {
        let message = format!("this write model does not support the option \"{option}\"");
        self.deferred.check(Err(Error::invalid_argument(message)));
    }

    /// Insert a document if none matches. For updates and replacements. Default: `false`.
    pub fn upsert(mut self, value: bool) -> Self {
        match &mut self.write {
            Write::Update { options, .. } => options.upsert = Some(value),
            _ => self.refuse("upsert"),
        }
        self
    }

    /// The index to use, by name or by key pattern. For updates, replacements and deletes (deletes:
    /// MongoDB 4.4+). Default: the choice of the query planner.
    pub fn hint(mut self, value: impl Into<Hint>) -> Self {
        let hint = Some(Box::new(value.into()));
        match &mut self.write {
            Write::Update { options, .. } => options.hint = hint,
            Write::Delete { options, .. } => options.hint = hint,
            Write::Insert { .. } => self.refuse("hint"),
        }
        self
    }

    /// The collation of string comparisons. For updates, replacements and deletes. Default: the
    /// default collation of the collection.
    pub fn collation(mut self, value: impl Into<Collation>) -> Self {
        let collation = Some(Box::new(value.into()));
        match &mut self.write {
            Write::Update { options, .. } => options.collation = collation,
            Write::Delete { options, .. } => options.collation = collation,
            Write::Insert { .. } => self.refuse("collation"),
        }
        self
    }

    /// Filters for the array elements that `$[identifier]` in the update matches, e.g. `[doc! {
    /// "line.sku": "A-1" }]` for `lines.$[line].quantity`. For updates. Default: none.
    pub fn array_filters<D: IntoDocument>(mut self, filters: impl IntoIterator<Item = D>) -> Self {
        let filters = self.deferred.documents("array_filters", filters);
        match &mut self.write {
            Write::Update {
                modification: Modification::Operators(_) | Modification::Pipeline(_),
                options,
                ..
            } => options.array_filters = Some(filters),
            _ => self.refuse("array_filters"),
        }
        self
    }

    /// The sort order that determines which of the matching documents is written (MongoDB 8.0+).
    /// For `update_one` and `replace_one`. Default: none.
    pub fn sort(mut self, value: impl IntoDocument) -> Self {
        let sort = self.deferred.document("sort", value);
        match &mut self.write {
            Write::Update {
                multi: false,
                options,
                ..
            } => options.sort = Some(Box::new(sort)),
            _ => self.refuse("sort"),
        }
        self
    }

    /// The write, after its arguments have been validated.
    pub(in crate::api::command) fn into_write(self) -> Result<Write> {
        self.deferred.into_result()?;
        if let Write::Update { modification, .. } = &self.write {
            modification.validate()?;
        }
        Ok(self.write)
    }

    /// Encodes the statement.
    pub(super) fn into_statement(self) -> Result<EncodedStatement> {
        let mut bytes = Vec::new();
        let (kind, multi, needs_4_4) = match self.into_write()? {
            Write::Insert { document, id } => {
                return Ok(EncodedStatement {
                    kind: WriteKind::Insert,
                    bytes: document,
                    id: Some(id),
                    multi: false,
                    needs_4_4: false,
                });
            }
            Write::Update {
                filter,
                modification,
                multi,
                options,
            } => {
                let statement = UpdateStatement {
                    filter: &filter,
                    modification: &modification,
                    multi,
                    options: &options,
                };
                statement.encode(&mut bytes)?;
                (WriteKind::Update, multi, false)
            }
            Write::Delete {
                filter,
                multi,
                options,
            } => {
                let statement = DeleteStatement {
                    filter: &filter,
                    multi,
                    options: &options,
                };
                statement.encode(&mut bytes)?;
                (WriteKind::Delete, multi, options.hint.is_some())
            }
        };
        Ok(EncodedStatement {
            kind,
            bytes: raw(bytes)?,
            id: None,
            multi,
            needs_4_4,
        })
    }
}

fn raw(bytes: Vec<u8>) -> Result<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes)
        .map_err(|e| Error::invalid_argument(format!("a model is not valid BSON: {e}")))
}

/// Encodes a document, with an `_id` if it has none, and returns the `_id` too.
fn with_id<T: Serialize + ?Sized>(document: &T) -> Result<(RawDocumentBuf, Bson)> {
    let mut bytes = Vec::new();
    bson::append(document, &mut bytes)?;
    let id = match find_element(&bytes, "_id")? {
        Some(element) => element.value.to_bson()?,
        None => {
            let id = ObjectId::new();
            prepend_id(&mut bytes, 0, id)?;
            Bson::ObjectId(id)
        }
    };
    Ok((raw(bytes)?, id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{decode_document, doc};

    fn statement(model: WriteModel) -> Result<bson::Document> {
        Ok(decode_document(model.into_statement()?.bytes.as_bytes())?)
    }

    #[test]
    fn models_are_encoded_as_statements_of_their_commands() {
        let update = WriteModel::update_many(doc! { "a": 1 }, doc! { "$set": { "b": 2 } })
            .upsert(true)
            .hint("a_1");
        assert_eq!(
            statement(update).unwrap(),
            doc! { "q": { "a": 1 }, "u": { "$set": { "b": 2 } }, "multi": true, "upsert": true, "hint": "a_1" }
        );
        let delete = WriteModel::delete_one(doc! { "a": 1 });
        assert_eq!(statement(delete).unwrap(), doc! { "q": { "a": 1 }, "limit": 1 });
    }

    #[test]
    fn the_id_of_an_insert_is_its_first_field() {
        let inserted = statement(WriteModel::insert_one(&doc! { "a": 1 })).unwrap();
        assert_eq!(inserted.keys().collect::<Vec<_>>(), ["_id", "a"]);
        let kept = statement(WriteModel::insert_one(&doc! { "a": 1, "_id": 2 })).unwrap();
        assert_eq!(kept.get_i32("_id").unwrap(), 2);
    }

    #[test]
    fn unsupported_options_are_rejected() {
        let refused = |model: WriteModel| model.into_statement().unwrap_err().to_string();
        assert!(refused(WriteModel::insert_one(&doc! {}).hint("a")).contains("hint"));
        assert!(refused(WriteModel::delete_one(doc! {}).upsert(true)).contains("upsert"));
        let many = WriteModel::update_many(doc! {}, doc! { "$set": { "a": 1 } });
        assert!(refused(many.sort(doc! { "a": 1 })).contains("sort"));
        assert!(refused(WriteModel::update_one(doc! {}, doc! { "a": 1 })).contains("$set"));
        assert!(refused(WriteModel::replace_one(doc! {}, &doc! { "$set": 1 })).contains("update_one"));
    }
}
