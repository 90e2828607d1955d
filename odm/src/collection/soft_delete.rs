//! Soft deletion: which documents the operations of a handle find, and how documents are deleted.

use crate::ast::filter::{Node, Op};
use crate::bson::{Bson, DateTime, Document, doc};
use crate::collection::{Collection, Delete, NULL_ARGUMENT, UpdateMany, UpdateOne, filter_of};
use crate::filter::Filter;
use crate::hooks::SoftDelete;
use crate::model::{Fields, Model};
use crate::update::Update;
use crate::value::IntoValue;

/// Which documents of a model with soft deletion an operation finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those that are not deleted.
    #[default]
    Live,
    /// All.
    All,
    /// Those that are deleted.
    Deleted,
}

impl Scope {
    /// Adds the condition of the scope to a filter.
    pub(super) fn of<D: Model>(self, filter: Node) -> Node {
        let operator = match self {
            Scope::All => return filter,
            Scope::Live => Op::Eq,
            Scope::Deleted => Op::Ne,
        };
        match D::BEHAVIOR.soft_delete {
            None => filter,
            Some(field) => filter.and(Node::leaf(field, operator(Bson::Null))),
        }
    }

    /// The condition of the scope. `None` if there is none.
    pub(crate) fn condition<D: Model>(self) -> Option<Document> {
        let condition = self.of::<D>(Node::Default);
        (!condition.is_empty()).then(|| condition.to_document())
    }

    /// Adds the condition of the scope to the stages of a pipeline that reads documents of `D`. It follows
    /// a first stage that the server requires to be the first one.
    ///
    /// If only deleted documents are read, the condition is also added to the filter of `$vectorSearch`, which is
    /// applied before its limit. Documents that were restored after the search index was updated are left out
    /// afterwards.
    pub(crate) fn of_stages<D: Model>(self, stages: Vec<Document>) -> Vec<Document> {
        match self.condition::<D>() {
            None => stages,
            Some(condition) => restricted(stages, condition, self.indexed_condition::<D>()),
        }
    }

    /// The condition of the scope in the filter of `$vectorSearch`.
    ///
    /// There is none for documents that are not deleted: the field is null or missing in them. A comparison with null
    /// finds only documents that contain null, and servers refuse the operators that find missing fields, such as
    /// `$exists`, `$nor`, and `$not` of a range (7828300).
    fn indexed_condition<D: Model>(self) -> Option<Document> {
        let field = D::BEHAVIOR.soft_delete?;
        (self == Scope::Deleted).then(|| doc! { field: { "$gte": DateTime::from_millis(0) } })
    }
}

/// Adds a condition to the stages of a pipeline: after a first stage that the server requires to be the first one, and in
/// the filter of `$vectorSearch`, if it has a form there.
pub(super) fn restricted(
    mut stages: Vec<Document>,
    condition: Document,
    indexed: Option<Document>,
) -> Vec<Document> {
    let first = stages.first().and_then(|stage| stage.keys().next());
    let is_first = |name: &String| FIRST.iter().chain(&WITHOUT_DOCUMENTS).any(|first| first == name);
    let at = usize::from(first.is_some_and(is_first));
    let search = stages
        .first_mut()
        .map(|stage| stage.get_document_mut("$vectorSearch"));
    if let (Some(Ok(search)), Some(indexed)) = (search, indexed) {
        let filter = match search.remove("filter") {
            None => Bson::Document(indexed),
            Some(given) => doc! { "$and": [given, indexed] }.into(),
        };
        search.insert("filter", filter);
    }
    stages.insert(at, doc! { "$match": condition });
    stages
}

/// The stages that the server requires to be the first of a pipeline, and `$match`, which can be a text
/// search.
const FIRST: [&str; 4] = ["$match", "$geoNear", "$search", "$vectorSearch"];

/// Further such stages: they return other documents than those of the collection, or limit them before a condition is applied.
pub(super) const WITHOUT_DOCUMENTS: [&str; 8] = [
    "$searchMeta",
    "$rankFusion",
    "$scoreFusion",
    "$documents",
    "$collStats",
    "$indexStats",
    "$listSearchIndexes",
    "$planCacheStats",
];

/// The update that deletes documents of a model with soft deletion.
pub(super) fn deletion<D: Model>() -> Option<Update<D>> {
    let field = D::BEHAVIOR.soft_delete?;
    Some(Update::raw(doc! { "$set": { field: DateTime::now() } }))
}

impl<D: Model> Collection<D> {
    /// The same collection with the documents that were soft-deleted: reads and updates find both
    /// live and deleted documents. Default: live documents only. For the documents that a
    /// [lookup](crate::Pipeline::lookup) or a [union](crate::Pipeline::union_with) reads from other
    /// collections see [`Pipeline::with_deleted`](crate::Pipeline::with_deleted).
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*, bson::DateTime};
    /// #[derive(Document)]
    /// #[document(collection = "people", soft_delete = deleted_at)]
    /// struct Person {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    ///
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// people.delete_by_id(1).await?;
    /// assert!(people.find_by_id(1).await?.is_none());
    /// assert!(people.with_deleted().find_by_id(1).await?.is_some());
    /// people.restore(|p| p._id().eq(1)).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_deleted(&self) -> Self
    where
        D: SoftDelete,
    {
        self.with_scope(Scope::All)
    }

    /// The same collection with only the documents that were soft-deleted.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*, bson::DateTime};
    /// # #[derive(Document)]
    /// # #[document(collection = "people", soft_delete = deleted_at)]
    /// # struct Person { _id: i64, deleted_at: Option<DateTime> }
    /// # async fn run(people: marula::Collection<Person>, limit: DateTime) -> marula::Result<()> {
    /// let purged = people
    ///     .only_deleted()
    ///     .delete_permanently(|p| p.deleted_at().lt(limit))
    ///     .await?;
    /// # drop(purged); Ok(()) }
    /// ```
    #[must_use]
    pub fn only_deleted(&self) -> Self
    where
        D: SoftDelete,
    {
        self.with_scope(Scope::Deleted)
    }

    /// Removes all documents that match from the collection: those that the handle finds, by default
    /// live documents. The output of the action is their number.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_permanently(|n| n._id().eq(1)).required().await?;
    /// assert_eq!(notes.with_deleted().count(|_| Filter::everything()).await?, 0);
    /// # Ok(()) });
    /// ```
    pub fn delete_permanently(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D>
    where
        D: SoftDelete,
    {
        Delete::new(self, filter_of(filter), true).permanently()
    }

    /// Removes the document with this id from the collection, if the handle finds it: by default a live document. The output of
    /// the action is 0 or 1. For a model with encrypted fields, whose documents the server deletes only one by one, it replaces
    /// [`delete_permanently`](Self::delete_permanently). The call fails with
    /// [`Error::MissingId`](crate::Error::MissingId) if the id is `None`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_by_id(1).await?;
    /// assert_eq!(notes.delete_permanently_by_id(1).await?, 0);
    /// notes.with_deleted().delete_permanently_by_id(1).required().await?;
    /// assert_eq!(notes.with_deleted().count(|_| Filter::everything()).await?, 0);
    /// # Ok(()) });
    /// ```
    pub fn delete_permanently_by_id(&self, id: impl IntoValue<D::Id>) -> Delete<'_, D>
    where
        D: SoftDelete,
    {
        self.delete_by_id(id).permanently()
    }

    /// Makes all soft-deleted documents that match live again: sets the field of `soft_delete` to
    /// null. The output of the action contains their number. With [`upsert`](UpdateMany::upsert) the call fails with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_by_id(1).await?;
    /// notes.restore(|n| n._id().eq(1)).await?;
    /// assert!(notes.find_by_id(1).await?.is_some());
    /// # Ok(()) });
    /// ```
    pub fn restore(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> UpdateMany<'_, D>
    where
        D: SoftDelete,
    {
        UpdateMany::new(self, filter_of(filter), restoration()).restoring("restore")
    }

    /// Makes the document with this id live again if it was soft-deleted: sets the field of `soft_delete` to null. It is not an
    /// error if it was not; see [`required`](UpdateOne::required). For a model with encrypted fields, whose documents the server
    /// changes only one by one, it replaces [`restore`](Self::restore). The call fails with
    /// [`Error::MissingId`](crate::Error::MissingId) if the id is `None`, and with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) with [`upsert`](UpdateOne::upsert).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_by_id(1).await?;
    /// notes.restore_by_id(1).required().await?;
    /// assert!(notes.find_by_id(1).await?.is_some());
    /// # Ok(()) });
    /// ```
    pub fn restore_by_id(&self, id: impl IntoValue<D::Id>) -> UpdateOne<'_, D>
    where
        D: SoftDelete,
    {
        let filter = self.id_filter(id.into_value(), NULL_ARGUMENT);
        UpdateOne::new(self, filter, restoration()).restoring("restore_by_id")
    }
}

/// The update that makes documents live again.
fn restoration<D: SoftDelete>() -> Update<D> {
    let field = D::BEHAVIOR.soft_delete.unwrap_or_default();
    Update::raw(doc! { "$set": { field: Bson::Null } })
}
