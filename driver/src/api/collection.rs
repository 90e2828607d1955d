//! A collection of documents of one type.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use super::action::search_indexes::list_search_indexes;
use super::{
    Aggregate, CreateIndex, CreateIndexes, CreateSearchIndex, CreateSearchIndexes, Distinct, DropCollection,
    DropIndex, DropSearchIndex, EstimatedDocumentCount, ListIndexNames, ListIndexes, RenameCollection,
    UpdateSearchIndex,
    database::{Concerns, Database},
};
use crate::{
    Client, IndexModel, Namespace, SearchIndexModel,
    bson::IntoDocument,
    execution::Executor,
    operation::ReadScope,
    types::{
        concern::{ReadConcern, WriteConcern},
        read_preference::ReadPreference,
    },
};

/// A collection whose documents are read and written as `T`, any serde type.
///
/// Cloning is cheap. Nothing is sent when a handle is made; a collection that does not exist reads as empty and is
/// created by the first insert.
///
/// Every action can be dropped before it is done. What was sent may still have an effect on the server: a dropped insert
/// may or may not have been stored. The connection it used is closed unless its reply was read; nothing leaks.
///
/// ```no_run
/// use marula_driver::{Client, bson::doc};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Serialize, Deserialize)]
/// struct Book {
///     _id: i32,
///     title: String,
/// }
///
/// # async fn run() -> marula_driver::Result<()> {
/// let client = Client::connect("mongodb://localhost").await?;
/// let books = client.database("library").collection::<Book>("books");
/// books.insert_one(&Book { _id: 1, title: "Middlemarch".into() }).await?;
/// let found = books.find_one(doc! { "title": "Middlemarch" }).await?;
/// let mut cursor = books.find(doc! {}).sort(doc! { "title": 1 }).limit(10).await?;
/// while let Some(book) = cursor.try_next().await? {
///     println!("{book:?}");
/// }
/// # Ok(()) }
/// ```
pub struct Collection<T> {
    inner: Arc<CollectionInner>,
    document: PhantomData<fn() -> T>,
}

/// What a collection is, whatever its type.
#[derive(Clone, Debug)]
pub(crate) struct CollectionInner {
    database: Database,
    namespace: Namespace,
    concerns: Concerns,
}

impl CollectionInner {
    /// A scope for aggregations of a whole database.
    pub(crate) fn of_database(database: &Database) -> Self {
        Self {
            database: database.clone(),
            namespace: Namespace::new(database.name(), "$cmd.aggregate"),
            concerns: database.concerns().clone(),
        }
    }

    /// The same collection for operations that take no read concern.
    pub(crate) fn without_read_concern(&self) -> Self {
        let mut inner = self.clone();
        inner.concerns.read_concern = ReadConcern::default();
        inner
    }

    pub(crate) fn client(&self) -> &Client {
        self.database.client()
    }

    pub(crate) fn executor(&self) -> &Executor {
        self.client().executor()
    }

    pub(crate) fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    pub(crate) fn write_concern(&self) -> &WriteConcern {
        &self.concerns.write_concern
    }

    /// How a read runs: as its options say, otherwise as the collection says.
    pub(crate) fn read_scope_with<'a>(
        &'a self,
        read_concern: Option<&'a ReadConcern>,
        read_preference: Option<&'a ReadPreference>,
    ) -> ReadScope<'a> {
        ReadScope {
            namespace: &self.namespace,
            read_concern: read_concern.unwrap_or(&self.concerns.read_concern),
            read_preference: read_preference.unwrap_or(&self.concerns.read_preference),
        }
    }

    pub(crate) fn read_scope(&self) -> ReadScope<'_> {
        self.read_scope_with(None, None)
    }
}

impl<T> Collection<T> {
    pub(crate) fn new(database: &Database, name: &str) -> Self {
        Self::from_inner(CollectionInner {
            namespace: Namespace::new(database.name(), name),
            concerns: database.concerns().clone(),
            database: database.clone(),
        })
    }

    fn from_inner(inner: CollectionInner) -> Self {
        Self {
            inner: Arc::new(inner),
            document: PhantomData,
        }
    }

    pub(crate) fn inner(&self) -> &CollectionInner {
        &self.inner
    }

    /// The collection's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.namespace.collection
    }

    /// Database and collection name.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.inner.namespace
    }

    /// The database it belongs to.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// The same collection, its documents read and written as `U`.
    #[must_use]
    pub fn clone_with_type<U>(&self) -> Collection<U> {
        Collection {
            inner: Arc::clone(&self.inner),
            document: PhantomData,
        }
    }

    /// The collection of another name in the same database, with the same concerns and read preference.
    #[must_use]
    pub fn with_name(&self, name: &str) -> Self {
        let mut inner = CollectionInner::clone(&self.inner);
        name.clone_into(&mut inner.namespace.collection);
        Self::from_inner(inner)
    }

    fn with(&self, change: impl FnOnce(&mut Concerns)) -> Self {
        let mut inner = CollectionInner::clone(&self.inner);
        change(&mut inner.concerns);
        Self::from_inner(inner)
    }

    /// The same collection with another read concern. Default: the database's.
    #[must_use]
    pub fn with_read_concern(&self, concern: ReadConcern) -> Self {
        self.with(|concerns| concerns.read_concern = concern)
    }

    /// The same collection with another write concern. Default: the database's.
    #[must_use]
    pub fn with_write_concern(&self, concern: WriteConcern) -> Self {
        self.with(|concerns| concerns.write_concern = concern)
    }

    /// The same collection with another read preference. Default: the database's.
    #[must_use]
    pub fn with_read_preference(&self, preference: ReadPreference) -> Self {
        self.with(|concerns| concerns.read_preference = preference)
    }

    /// Runs an aggregation pipeline; awaited, it gives a cursor of documents, or of another type after
    /// [`with_type`](Aggregate::with_type).
    pub fn aggregate<D: IntoDocument>(&self, pipeline: impl IntoIterator<Item = D>) -> Aggregate<'_> {
        Aggregate::new(Cow::Borrowed(&*self.inner), false, pipeline)
    }

    /// Counts all documents from the collection's metadata: quick, and possibly wrong after an unclean shutdown or on a
    /// sharded cluster.
    pub fn estimated_document_count(&self) -> EstimatedDocumentCount<'_> {
        EstimatedDocumentCount::new(&self.inner)
    }

    /// The distinct values of `field` among the documents that match.
    pub fn distinct(&self, field: impl Into<String>, filter: impl IntoDocument) -> Distinct<'_> {
        Distinct::new(&self.inner, field.into(), filter)
    }

    /// Creates an index; awaited, it gives the index's name. An index that exists with the same options is kept.
    pub fn create_index(&self, model: IndexModel) -> CreateIndex<'_> {
        CreateIndex::new(&self.inner, model)
    }

    /// Creates indexes; awaited, it gives their names in order.
    pub fn create_indexes(&self, models: impl IntoIterator<Item = IndexModel>) -> CreateIndexes<'_> {
        CreateIndexes::new(&self.inner, models.into_iter().collect())
    }

    /// Lists the indexes; none for a collection that does not exist.
    pub fn list_indexes(&self) -> ListIndexes<'_> {
        ListIndexes::new(&self.inner)
    }

    /// Lists the names of the indexes.
    pub fn list_index_names(&self) -> ListIndexNames<'_> {
        ListIndexNames::new(&self.inner)
    }

    /// Drops one index by name. An index that does not exist is error 27 (IndexNotFound).
    pub fn drop_index(&self, name: impl Into<String>) -> DropIndex<'_> {
        DropIndex::new(&self.inner, name.into(), false)
    }

    /// Drops all indexes but that of `_id`.
    pub fn drop_indexes(&self) -> DropIndex<'_> {
        DropIndex::new(&self.inner, "*".to_owned(), true)
    }

    /// Creates a search index; awaited, it gives the index's name. Only deployments with a search service have them.
    pub fn create_search_index(&self, model: SearchIndexModel) -> CreateSearchIndex<'_> {
        CreateSearchIndex::new(&self.inner, model)
    }

    /// Creates search indexes; awaited, it gives their names in order. They are built in the background.
    pub fn create_search_indexes(
        &self,
        models: impl IntoIterator<Item = SearchIndexModel>,
    ) -> CreateSearchIndexes<'_> {
        CreateSearchIndexes::new(&self.inner, models.into_iter().collect())
    }

    /// Gives a search index another definition.
    pub fn update_search_index(
        &self,
        name: impl Into<String>,
        definition: impl IntoDocument,
    ) -> UpdateSearchIndex<'_> {
        UpdateSearchIndex::new(&self.inner, name.into(), definition)
    }

    /// Drops a search index. That the collection does not exist is no error.
    pub fn drop_search_index(&self, name: impl Into<String>) -> DropSearchIndex<'_> {
        DropSearchIndex::new(&self.inner, name.into())
    }

    /// Lists the search index of this name, or all; awaited, it gives a cursor of documents. It is an aggregation, and has
    /// the options of one.
    pub fn list_search_indexes(&self, name: Option<&str>) -> Aggregate<'_> {
        list_search_indexes(&self.inner, name)
    }

    /// Gives the collection another name in its database; documents and indexes stay.
    pub fn rename(&self, to: &str) -> RenameCollection<'_> {
        RenameCollection::new(&self.inner, Namespace::new(&self.inner.namespace.database, to))
    }

    /// Drops the collection with its documents and indexes. One that does not exist is no error.
    pub fn drop(&self) -> DropCollection<'_> {
        DropCollection::new(&self.inner)
    }
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        self.clone_with_type()
    }
}

impl<T> fmt::Debug for Collection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Collection").field(&self.inner.namespace).finish()
    }
}
