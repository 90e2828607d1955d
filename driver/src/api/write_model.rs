//! The models of a bulk write.

use serde::Serialize;

use super::action::{Deferred, update::IntoUpdate, update::UpdateModification};
use crate::{
    Error, Result,
    bson::{self, Bson, DocumentWriter, IntoDocument, ObjectId, RawDocumentBuf, find_element},
    operation::{
        bulk_write::{Kind, Statement},
        insert::prepend_id,
        update::Modification,
    },
    proto::command::write_documents,
    types::{collation::Collation, hint::Hint},
};

/// One write of a bulk write; see [`Collection::bulk_write`](crate::Collection::bulk_write).
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
    options: Options,
    deferred: Deferred,
}

#[derive(Clone, Debug)]
enum Write {
    Insert(RawDocumentBuf, Bson),
    Update(RawDocumentBuf, Modification, bool),
    Delete(RawDocumentBuf, bool),
}

#[derive(Clone, Debug, Default)]
struct Options {
    upsert: Option<bool>,
    hint: Option<Hint>,
    collation: Option<Collation>,
    array_filters: Option<Vec<RawDocumentBuf>>,
    sort: Option<RawDocumentBuf>,
}

impl WriteModel {
    fn new(write: Write, deferred: Deferred) -> Self {
        Self {
            write,
            options: Options::default(),
            deferred,
        }
    }

    /// Inserts a document. One without `_id` gets an ObjectId.
    pub fn insert_one<T: Serialize + ?Sized>(document: &T) -> Self {
        let mut deferred = Deferred::default();
        let (bytes, id) = match with_id(document) {
            Ok(pair) => pair,
            Err(error) => {
                deferred.check(Err(error));
                (RawDocumentBuf::new(), Bson::Null)
            }
        };
        Self::new(Write::Insert(bytes, id), deferred)
    }

    /// Updates the first document that matches: with operators or a pipeline.
    pub fn update_one(filter: impl IntoDocument, update: impl IntoUpdate) -> Self {
        Self::update(filter, update.into_update(), false)
    }

    /// Updates all documents that match.
    pub fn update_many(filter: impl IntoDocument, update: impl IntoUpdate) -> Self {
        Self::update(filter, update.into_update(), true)
    }

    /// Replaces the first document that matches; its `_id` stays.
    pub fn replace_one<T: Serialize>(filter: impl IntoDocument, replacement: &T) -> Self {
        Self::update(filter, super::collection::replacement_of(replacement), false)
    }

    fn update(
        filter: impl IntoDocument,
        UpdateModification(modification, mut deferred): UpdateModification,
        many: bool,
    ) -> Self {
        let filter = deferred.document("filter", filter);
        Self::new(Write::Update(filter, modification, many), deferred)
    }

    /// Deletes the first document that matches.
    pub fn delete_one(filter: impl IntoDocument) -> Self {
        Self::delete(filter, false)
    }

    /// Deletes all documents that match.
    pub fn delete_many(filter: impl IntoDocument) -> Self {
        Self::delete(filter, true)
    }

    fn delete(filter: impl IntoDocument, many: bool) -> Self {
        let mut deferred = Deferred::default();
        let filter = deferred.document("filter", filter);
        Self::new(Write::Delete(filter, many), deferred)
    }

    /// An option that the write does not have is reported when the bulk write is awaited.
    fn only(mut self, fits: bool, option: &str) -> Self {
        if !fits {
            let why = format!("this write of a bulk write has no option \"{option}\"");
            self.deferred.check(Err(Error::invalid_argument(why)));
        }
        self
    }

    fn is_update(&self) -> bool {
        matches!(self.write, Write::Update(..))
    }

    /// Insert a document when none matches. For updates and replacements.
    pub fn upsert(mut self, value: bool) -> Self {
        self.options.upsert = Some(value);
        let fits = self.is_update();
        self.only(fits, "upsert")
    }

    /// The index the server must use, by name or by keys. For all but inserts.
    pub fn hint(mut self, value: impl Into<Hint>) -> Self {
        self.options.hint = Some(value.into());
        let fits = !matches!(self.write, Write::Insert(..));
        self.only(fits, "hint")
    }

    /// How strings compare. For all but inserts.
    pub fn collation(mut self, value: impl Into<Collation>) -> Self {
        self.options.collation = Some(value.into());
        let fits = !matches!(self.write, Write::Insert(..));
        self.only(fits, "collation")
    }

    /// Which array elements a `$[name]` in the update stands for. For updates.
    pub fn array_filters<D: IntoDocument>(mut self, filters: impl IntoIterator<Item = D>) -> Self {
        self.options.array_filters = Some(self.deferred.documents("array_filters", filters));
        let fits = matches!(
            self.write,
            Write::Update(_, Modification::Operators(_) | Modification::Pipeline(_), _)
        );
        self.only(fits, "array_filters")
    }

    /// Which of several matching documents is changed (server 8.0). For an update of one, and replacements.
    pub fn sort(mut self, value: impl IntoDocument) -> Self {
        self.options.sort = Some(self.deferred.document("sort", value));
        let fits = matches!(self.write, Write::Update(_, _, false));
        self.only(fits, "sort")
    }

    /// The statement as it is sent.
    pub(super) fn into_statement(self) -> Result<Statement> {
        self.deferred.into_result()?;
        let mut bytes = Vec::new();
        let mut writer = DocumentWriter::new(&mut bytes);
        let statement = writer.begin();
        let options = self.options;
        let (kind, multi) = match self.write {
            Write::Insert(bytes, id) => {
                return Ok(Statement {
                    kind: Kind::Insert,
                    bytes,
                    id: Some(id),
                    multi: false,
                    needs_4_4: false,
                });
            }
            Write::Update(filter, modification, many) => {
                modification.validate()?;
                writer.document("q", &filter);
                modification.write(&mut writer, "u");
                if many {
                    writer.bool("multi", true);
                }
                (Kind::Update, many)
            }
            Write::Delete(filter, many) => {
                writer.document("q", &filter);
                writer.i32("limit", i32::from(!many));
                (Kind::Delete, many)
            }
        };
        if let Some(upsert) = options.upsert {
            writer.bool("upsert", upsert);
        }
        if let Some(filters) = &options.array_filters {
            write_documents(
                &mut writer,
                "arrayFilters",
                filters.iter().map(|filter| &**filter),
            );
        }
        let hinted = options.hint.is_some();
        if let Some(hint) = &options.hint {
            writer.bson("hint", &hint.to_bson());
        }
        if let Some(collation) = &options.collation {
            writer.serialize("collation", collation);
        }
        if let Some(sort) = &options.sort {
            writer.document("sort", sort);
        }
        writer.end(statement);
        writer.finish()?;
        Ok(Statement {
            kind,
            bytes: raw(bytes)?,
            id: None,
            multi,
            needs_4_4: hinted && kind == Kind::Delete,
        })
    }
}

fn raw(bytes: Vec<u8>) -> Result<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes)
        .map_err(|e| Error::invalid_argument(format!("a model is no valid BSON: {e}")))
}

/// The document with an `_id`, and the `_id`.
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
    fn models_become_the_statements_of_their_commands() {
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
    fn an_insert_gets_its_id_first() {
        let inserted = statement(WriteModel::insert_one(&doc! { "a": 1 })).unwrap();
        assert_eq!(inserted.keys().collect::<Vec<_>>(), ["_id", "a"]);
        let kept = statement(WriteModel::insert_one(&doc! { "a": 1, "_id": 2 })).unwrap();
        assert_eq!(kept.get_i32("_id").unwrap(), 2);
    }

    #[test]
    fn options_of_other_writes_are_refused() {
        let refused = |model: WriteModel| model.into_statement().unwrap_err().to_string();
        assert!(refused(WriteModel::insert_one(&doc! {}).hint("a")).contains("hint"));
        assert!(refused(WriteModel::delete_one(doc! {}).upsert(true)).contains("upsert"));
        let many = WriteModel::update_many(doc! {}, doc! { "$set": { "a": 1 } });
        assert!(refused(many.sort(doc! { "a": 1 })).contains("sort"));
        assert!(refused(WriteModel::update_one(doc! {}, doc! { "a": 1 })).contains("$set"));
        assert!(refused(WriteModel::replace_one(doc! {}, &doc! { "$set": 1 })).contains("update_one"));
    }
}
