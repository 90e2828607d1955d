//! Handles: the collection of another name or database, or with other options.

use std::marker::PhantomData;

use crate::bson::RawDocumentBuf;
use crate::collection::Collection;
use crate::collection::soft_delete::Scope;
use crate::driver::{self, Namespace, options};

impl<D> Collection<D> {
    /// The typed view of a collection of the driver, with its name, concerns and read preference.
    /// The type `T` of its documents is replaced by `D`.
    #[must_use]
    pub fn from_driver<T>(collection: &driver::Collection<T>) -> Self {
        Collection {
            inner: collection.clone_with_type(),
            scope: Scope::Live,
            document: PhantomData,
        }
    }

    /// The driver's collection, for operations without a typed method, such as
    /// [`aggregate`](driver::Collection::aggregate). Its documents are read and written as `D`; it
    /// generates no ids with the model's id source, and maintains no fields.
    #[must_use]
    pub fn driver(&self) -> driver::Collection<D> {
        self.inner.clone_with_type()
    }

    /// The driver's collection of raw documents.
    pub(crate) fn raw(&self) -> &driver::Collection<RawDocumentBuf> {
        &self.inner
    }

    /// The name of the collection.
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The names of the database and the collection; `Display` prints `database.collection`.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        self.inner.namespace()
    }

    /// The same model and scope with another collection of the driver.
    pub(super) fn with_inner(&self, inner: driver::Collection<RawDocumentBuf>) -> Self {
        Collection {
            inner,
            scope: self.scope,
            document: PhantomData,
        }
    }

    /// The same collection with another scope.
    pub(super) fn with_scope(&self, scope: Scope) -> Self {
        Collection {
            inner: self.inner.clone(),
            scope,
            document: PhantomData,
        }
    }

    /// The collection of this name with the same model, concerns and read preference: for example
    /// one collection for each tenant.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        self.with_inner(self.inner.with_name(name))
    }

    /// The collection with this name in another database, with the same model, concerns and read
    /// preference: for example one database for each tenant.
    #[must_use]
    pub fn in_db(&self, database: &str) -> Self {
        self.with_inner(self.inner.in_database(database))
    }

    /// The same collection with another read concern. Default: the database's.
    #[must_use]
    pub fn with_read_concern(&self, concern: options::ReadConcern) -> Self {
        self.with_inner(self.inner.with_read_concern(concern))
    }

    /// The same collection with another write concern. Default: the database's.
    #[must_use]
    pub fn with_write_concern(&self, concern: options::WriteConcern) -> Self {
        self.with_inner(self.inner.with_write_concern(concern))
    }

    /// The same collection with another read preference. Default: the database's.
    #[must_use]
    pub fn with_read_preference(&self, preference: options::ReadPreference) -> Self {
        self.with_inner(self.inner.with_read_preference(preference))
    }

    /// The same collection with another timeout (`timeoutMS`) of each operation, which includes
    /// server selection and retries. Zero means no limit. Default: the database's.
    #[must_use]
    pub fn with_timeout(&self, timeout: std::time::Duration) -> Self {
        self.with_inner(self.inner.with_timeout(timeout))
    }
}
