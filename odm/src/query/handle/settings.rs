//! Handles: the collection of another name or database, or with other options.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::{
    base::{bson::RawDocumentBuf, error::Result},
    driver::{self, Namespace, options},
    query::handle::{Collection, rows::Rows, soft_delete::Scope},
};

impl<D> Collection<D> {
    /// The typed view of a collection of the driver, with its name, concerns and read preference.
    /// The type `T` of its documents is replaced by `D`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let raw = client.driver().database("shop").collection::<bson::Document>("orders");
    /// let orders = Collection::<Order>::from_driver(&raw);
    /// assert_eq!(orders.estimated_count().await?, 3);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn from_driver<T>(collection: &driver::Collection<T>) -> Self {
        Collection {
            inner: collection.clone_with_type(),
            scope: Scope::Live,
            rows: None,
            document: PhantomData,
        }
    }

    /// The driver's collection, for operations without a typed method, such as
    /// [`aggregate`](driver::Collection::aggregate). Its documents are read and written as `D`; it
    /// generates no ids with the model's id source, and maintains no fields.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let found = orders.driver().find_one(doc! { "total": 100 }).await?;
    /// assert_eq!(found.map(|order| order.id), Some(1));
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn driver(&self) -> driver::Collection<D> {
        self.inner.clone_with_type()
    }

    /// The driver's collection of raw documents.
    pub(crate) fn raw(&self) -> &driver::Collection<RawDocumentBuf> {
        &self.inner
    }

    /// The name of the collection.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.name(), "orders");
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The names of the database and the collection; `Display` prints `database.collection`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.namespace().to_string(), "shop.orders");
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        self.inner.namespace()
    }

    /// The same model and scope with another collection of the driver.
    pub(in crate::query) fn with_inner(&self, inner: driver::Collection<RawDocumentBuf>) -> Self {
        Collection {
            inner,
            scope: self.scope,
            rows: self.rows.clone(),
            document: PhantomData,
        }
    }

    /// The same collection with the rows of a scope.
    pub(in crate::query) fn with_rows(&self, rows: Arc<Result<Rows>>) -> Self {
        Collection {
            rows: Some(rows),
            ..self.clone()
        }
    }

    /// The same collection with another scope.
    pub(in crate::query) fn with_scope(&self, scope: Scope) -> Self {
        Collection {
            scope,
            ..self.clone()
        }
    }

    /// The collection of this name with the same model, concerns and read preference: for example
    /// one collection for each tenant.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let archive = orders.named("orders_2025");
    /// archive.insert_one(&order(1)).await?;
    /// assert_eq!(archive.namespace().to_string(), "shop.orders_2025");
    /// # Ok(()) });
    /// ```
    #[must_use]
    #[doc(alias = "with_name")]
    pub fn named(&self, name: &str) -> Self {
        self.with_inner(self.inner.with_name(name))
    }

    /// The collection with this name in another database, with the same model, concerns and read
    /// preference: for example one database for each tenant.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.in_db("shop_acme").namespace().to_string(), "shop_acme.orders");
    /// # Ok(()) });
    /// ```
    #[must_use]
    #[doc(alias = "in_database")]
    pub fn in_db(&self, database: &str) -> Self {
        self.with_inner(self.inner.in_database(database))
    }

    /// The same collection with another read concern. Default: the database's.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::driver::options::ReadConcern;
    /// let confirmed = orders.with_read_concern(ReadConcern::majority());
    /// assert_eq!(confirmed.find_all().await?.len(), 3);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn with_read_concern(&self, concern: options::ReadConcern) -> Self {
        self.with_inner(self.inner.with_read_concern(concern))
    }

    /// The same collection with another write concern. Default: the database's.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::driver::options::WriteConcern;
    /// orders.with_write_concern(WriteConcern::majority()).insert_one(&order(4)).await?;
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn with_write_concern(&self, concern: options::WriteConcern) -> Self {
        self.with_inner(self.inner.with_write_concern(concern))
    }

    /// The same collection with another read preference. Default: the database's.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::driver::options::{ReadPreference, ReadPreferenceMode};
    /// let preference = ReadPreference::new(ReadPreferenceMode::SecondaryPreferred);
    /// let count = orders.with_read_preference(preference).estimated_count().await?;
    /// # drop(count);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn with_read_preference(&self, preference: options::ReadPreference) -> Self {
        self.with_inner(self.inner.with_read_preference(preference))
    }

    /// The same collection with another timeout (`timeoutMS`) of each operation, which includes
    /// server selection and retries. Zero means no limit. Default: the database's.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use std::time::Duration;
    /// let orders = orders.with_timeout(Duration::from_secs(2));
    /// assert_eq!(orders.find_all().await?.len(), 3);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn with_timeout(&self, timeout: std::time::Duration) -> Self {
        self.with_inner(self.inner.with_timeout(timeout))
    }
}
