//! [`Collection`].

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use super::{
    command::InSession,
    cursor::CursorTimeoutOptions,
    database::{Concerns, Database},
    transaction::{BoundTransaction, Membership},
};
use crate::{
    Client, Namespace, Result,
    execution::{CallName, Executor, admit, start_timeout},
    operation::ReadScope,
    types::{
        concern::{ReadConcern, WriteConcern},
        read_preference::ReadPreference,
        timeout::{TimeLimit, Timeout, TimeoutSource},
    },
};

/// A handle to a collection whose documents are serialized from and deserialized to `T`.
///
/// Clones are cheap. Creating a handle sends nothing. A collection that does not exist reads as
/// empty, and the first insert creates it. For documents without a Rust type, use
/// [`Document`](crate::bson::Document) or [`RawDocumentBuf`](crate::bson::RawDocumentBuf) as `T`.
///
/// A field of `T` whose type is [`Bson`](crate::bson::Bson) or [`Document`](crate::bson::Document) needs
/// `#[serde(with = "marula_driver::bson::exact")]` (`marula::bson::exact` with the ODM) to be read as
/// it is stored: see [`bson::exact`](crate::bson::exact).
///
/// The methods return [actions](crate::action), which also describes options, sessions, retries,
/// and what dropping a future does.
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

/// The data of a collection that does not depend on the document type.
#[derive(Clone, Debug)]
pub(crate) struct CollectionInner {
    database: Database,
    namespace: Arc<Namespace>,
    concerns: Concerns,
}

impl CollectionInner {
    /// A scope for aggregations on a database.
    pub(crate) fn of_database(database: &Database) -> Self {
        Self {
            database: database.clone(),
            namespace: Arc::new(Namespace::new(database.name(), "$cmd.aggregate")),
            concerns: database.concerns().clone(),
        }
    }

    /// The same collection without a read concern, for operations that do not take one.
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

    /// The time limits of a cursor, whose operation has the option `own`.
    ///
    /// # Errors
    /// The errors of [`Concerns::check_outside`].
    pub(super) fn cursor_timeout(
        &self,
        operation: &'static str,
        session: InSession<'_>,
        own: Option<Duration>,
    ) -> Result<CursorTimeoutOptions> {
        self.check_outside(operation, session)?;
        Ok(self.concerns.cursor_timeout(own, self.is_closing()))
    }

    #[inline]
    fn check_outside(&self, operation: &'static str, session: InSession<'_>) -> Result<()> {
        let call = CallName {
            operation,
            database: &self.namespace.database,
            collection: Some(&self.namespace.collection),
        };
        self.concerns.check_outside(self.executor(), session, call)
    }

    /// The session of an action, unless it sets another one.
    #[inline]
    pub(crate) fn session(&self) -> InSession<'_> {
        self.concerns.session()
    }

    /// Whether operations of the handle are refused, because the client shuts down.
    fn is_closing(&self) -> bool {
        !self.concerns.is_part && self.executor().is_closing()
    }

    /// Starts the time limit of an operation whose own option is `own`.
    ///
    /// # Errors
    /// The client shuts down, and the operation is not part of a transaction; or the errors of [`Concerns::check_outside`].
    #[inline]
    pub(crate) fn start_timeout(
        &self,
        operation: &'static str,
        own: Option<Duration>,
        session: InSession<'_>,
    ) -> Result<Timeout> {
        self.check_outside(operation, session)?;
        admit(self.is_closing(), session)?;
        let timeout = start_timeout(own, session, self.concerns.timeout)?;
        Ok(self.concerns.of_part(own, timeout))
    }

    /// The namespace for a value that outlives the handle.
    pub(crate) fn shared_namespace(&self) -> Arc<Namespace> {
        Arc::clone(&self.namespace)
    }

    pub(crate) fn write_concern(&self) -> &WriteConcern {
        &self.concerns.write_concern
    }

    /// The scope of a read: the concern and preference of its options, or else those of the
    /// collection.
    pub(crate) fn read_scope<'a>(
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
}

impl<T> Collection<T> {
    pub(crate) fn new(database: &Database, name: &str) -> Self {
        Self::from_inner(CollectionInner {
            namespace: Arc::new(Namespace::new(database.name(), name)),
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

    /// The name of the collection, without that of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.namespace.collection
    }

    /// The database name and the collection name.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.inner.namespace
    }

    /// The database of the collection.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// A handle to the same collection with the document type `U`, e.g.
    /// [`Document`](crate::bson::Document).
    #[must_use]
    pub fn clone_with_type<U>(&self) -> Collection<U> {
        Collection {
            inner: Arc::clone(&self.inner),
            document: PhantomData,
        }
    }

    /// A handle to the collection with this name in the same database, with the same concerns and
    /// read preference.
    #[must_use]
    pub fn with_name(&self, name: &str) -> Self {
        let mut inner = CollectionInner::clone(&self.inner);
        name.clone_into(&mut Arc::make_mut(&mut inner.namespace).collection);
        Self::from_inner(inner)
    }

    /// A handle to the collection with the same name in the database with this name, with the same
    /// concerns, read preference and timeout.
    #[must_use]
    pub fn in_database(&self, name: &str) -> Self {
        let mut inner = CollectionInner::clone(&self.inner);
        inner.database = inner.database.with_name(name);
        name.clone_into(&mut Arc::make_mut(&mut inner.namespace).database);
        Self::from_inner(inner)
    }

    /// The transaction that the handle is [bound](crate::ClientSession::bind) to.
    #[must_use]
    pub fn transaction(&self) -> Option<&BoundTransaction> {
        self.inner.concerns.membership.transaction()
    }

    /// The same collection, and its database, with another transaction.
    pub(super) fn bound_to(&self, transaction: &BoundTransaction) -> Self {
        let mut inner = CollectionInner::clone(&self.inner);
        inner.database = inner.database.bound_to(transaction);
        inner.concerns.membership = Membership::Bound(transaction.clone());
        Self::from_inner(inner)
    }

    /// The same collection for calls that cannot be part of a transaction.
    #[cfg(feature = "encryption")]
    pub(super) fn outside_transactions(&self) -> Self {
        self.with(|concerns| concerns.membership = Membership::Outside)
    }

    fn with(&self, change: impl FnOnce(&mut Concerns)) -> Self {
        let mut inner = CollectionInner::clone(&self.inner);
        change(&mut inner.concerns);
        Self::from_inner(inner)
    }

    /// Returns a handle to the same collection with this read concern. Default: that of the
    /// database.
    #[must_use]
    pub fn with_read_concern(&self, concern: ReadConcern) -> Self {
        self.with(|concerns| concerns.read_concern = concern)
    }

    /// Returns a handle to the same collection with this write concern. Default: that of the
    /// database.
    #[must_use]
    pub fn with_write_concern(&self, concern: WriteConcern) -> Self {
        self.with(|concerns| concerns.write_concern = concern)
    }

    /// Returns a handle to the same collection with this read preference. Default: that of the
    /// database.
    #[must_use]
    pub fn with_read_preference(&self, preference: ReadPreference) -> Self {
        self.with(|concerns| concerns.read_preference = preference)
    }

    /// Returns a handle to the same collection with this timeout (`timeoutMS`) of each operation;
    /// see [`ClientOptions::timeout`](crate::options::ClientOptions::timeout). `Duration::ZERO` means
    /// no limit. Default: that of the database.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        self.with(|concerns| concerns.timeout = Some(TimeLimit::of(timeout, TimeoutSource::Collection)))
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
