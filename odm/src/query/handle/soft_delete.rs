//! The documents of a model that the operations of a handle find: those of its kind, live or soft-deleted ones; and how documents are
//! soft-deleted.

use crate::{
    ast::filter::{Node, Op},
    base::bson::{Bson, DateTime, Document, doc},
    models::{hooks::SoftDelete, model::Model},
    query::handle::Collection,
    term::update::Update,
};

/// Which documents of a model with soft deletion an operation finds. Those of other kinds are never found.
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
    pub(in crate::query) fn of<D: Model>(self, filter: Node) -> Node {
        let filter = match D::BEHAVIOR.discriminator {
            None => filter,
            Some(kind) => filter.and(Node::leaf(kind.field, Op::Eq(kind.value.into()))),
        };
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
        let first = stages.first().and_then(|stage| stage.keys().next());
        if first.is_some_and(|first| ABOUT_COLLECTION.contains(&first.as_str())) {
            return stages;
        }
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
        let mut condition = Document::new();
        if let Some(kind) = D::BEHAVIOR.discriminator {
            condition.insert(kind.field, kind.value);
        }
        if let (Some(field), Scope::Deleted) = (D::BEHAVIOR.soft_delete, self) {
            condition.insert(field, doc! { "$gte": DateTime::from_millis(0) });
        }
        (!condition.is_empty()).then_some(condition)
    }
}

/// Adds a condition to the stages of a pipeline: after a first stage that the server requires to be the first one, and in
/// the filter of `$vectorSearch`, if it has a form there.
pub(in crate::query) fn restricted(
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
pub(in crate::query) const WITHOUT_DOCUMENTS: [&str; 8] = [
    "$searchMeta",
    "$rankFusion",
    "$scoreFusion",
    "$documents",
    "$collStats",
    "$indexStats",
    "$listSearchIndexes",
    "$planCacheStats",
];

/// The stages whose results are about the collection, and not its documents.
const ABOUT_COLLECTION: [&str; 5] = [
    "$searchMeta",
    "$collStats",
    "$indexStats",
    "$listSearchIndexes",
    "$planCacheStats",
];

/// The update that deletes documents of a model with soft deletion.
pub(in crate::query) fn deletion<D: Model>() -> Option<Update<D>> {
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
}
