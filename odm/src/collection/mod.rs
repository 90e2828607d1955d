//! Typed collections: CRUD calls on models, and the way from them to the driver.

use std::fmt;
use std::marker::PhantomData;

use crate::bson::{RawDocumentBuf, doc};
use crate::driver::{self, Namespace, options};
use crate::error::{Error, Result};
use crate::filter::{Conditions, Filter};
use crate::model::{Fields, Model};
use crate::path::AsPath;
use crate::update::IntoUpdate;
use crate::value::IntoValue;

mod action;
mod decode;
mod delete;
mod documents;
mod find;
mod find_and_modify;
mod insert;
mod keyset;
mod page;
mod read;
mod token;
mod update;

pub use delete::Delete;
pub use documents::Documents;
pub use find::Find;
pub use find_and_modify::FindOneAnd;
pub use insert::{InsertMany, InsertOne};
pub use keyset::KeysetPage;
pub use page::Page;
pub use read::{Count, Distinct, FindOne, FindOneFuture};
pub use update::{Replace, UpdateMany, UpdateOne};

/// A collection whose documents are `D`.
///
/// Cloning is cheap, and nothing is sent when a handle is made. Every call is a value that collects options and is
/// awaited; dropped before that it does nothing, dropped while it waits it may or may not have had its effect on the
/// server.
///
/// ```no_run
/// use marula::bson::DateTime;
/// use marula::prelude::*;
/// use marula::{Document, Embedded};
/// use serde::{Deserialize, Serialize};
/// use uuid::Uuid;
///
/// #[derive(Serialize, Deserialize, Embedded)]
/// struct Line {
///     sku: String,
///     qty: i32,
/// }
///
/// #[derive(Serialize, Deserialize, Document)]
/// #[serde(rename_all = "camelCase")]
/// #[document(collection = "orders", index(customer_id, -created_at))]
/// struct Order {
///     #[serde(rename = "_id")]
///     #[document(id = uuid_v7)]
///     id: Uuid,
///     customer_id: Uuid,
///     lines: Vec<Line>,
///     created_at: DateTime,
/// }
///
/// # async fn run(customer: Uuid) -> marula::Result<()> {
/// let db = marula::connect("mongodb://localhost").await?.database("shop");
/// let orders = db.collection::<Order>();
/// let order = Order {
///     id: Order::new_id(),
///     customer_id: customer,
///     lines: vec![Line { sku: "tea".into(), qty: 2 }],
///     created_at: DateTime::now(),
/// };
/// orders.insert_one(&order).await?;
/// let recent = orders
///     .find(|o| o.customer_id().eq(customer) & o.lines().elem_match(|l| l.sku().eq("tea") & l.qty().gte(2)))
///     .sort(|o| o.created_at().desc())
///     .limit(20)
///     .all()
///     .await?;
/// orders
///     .update_one(|o| o.id().eq(order.id), |o| o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().inc(1))
///     .await?;
/// # drop(recent);
/// # Ok(()) }
/// ```
pub struct Collection<D> {
    inner: driver::Collection<RawDocumentBuf>,
    document: PhantomData<fn() -> D>,
}

impl<D> Clone for Collection<D> {
    fn clone(&self) -> Self {
        Self::from_driver(&self.inner)
    }
}

impl<D> fmt::Debug for Collection<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Collection")
            .field(&self.inner.namespace().to_string())
            .finish()
    }
}

impl<D> Collection<D> {
    /// The typed view of a collection of the driver.
    #[must_use]
    pub fn from_driver<T>(collection: &driver::Collection<T>) -> Self {
        Collection {
            inner: collection.clone_with_type(),
            document: PhantomData,
        }
    }

    /// The driver's collection, for what has no typed call: its documents are read and written as `D`.
    #[must_use]
    pub fn driver(&self) -> driver::Collection<D> {
        self.inner.clone_with_type()
    }

    /// The name of the collection.
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The names of the database and the collection.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        self.inner.namespace()
    }

    /// The same documents in a collection of another name, such as one for each tenant, with the same concerns and read
    /// preference.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self::from_driver(&self.inner.with_name(name))
    }

    /// The same collection with another read concern. Default: the database's.
    #[must_use]
    pub fn with_read_concern(&self, concern: options::ReadConcern) -> Self {
        Self::from_driver(&self.inner.with_read_concern(concern))
    }

    /// The same collection with another write concern. Default: the database's.
    #[must_use]
    pub fn with_write_concern(&self, concern: options::WriteConcern) -> Self {
        Self::from_driver(&self.inner.with_write_concern(concern))
    }

    /// The same collection with another read preference. Default: the database's.
    #[must_use]
    pub fn with_read_preference(&self, preference: options::ReadPreference) -> Self {
        Self::from_driver(&self.inner.with_read_preference(preference))
    }

    fn not_found(&self) -> Error {
        Error::NotFound {
            collection: self.inner.namespace().to_string(),
        }
    }
}

/// A filter from a closure over the model's fields.
fn filter_of<D: Model>(filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Result<Conditions> {
    filter(D::fields()).into_conditions()
}

/// The filter of one id.
fn id_filter<D: Model>(id: impl IntoValue<D::Id>) -> Result<Conditions> {
    let id = id.into_value().map_err(|e| Error::encode("_id", e))?;
    Ok(Conditions::id(id))
}

impl<D: Model> Collection<D> {
    /// Inserts a document. Its id must have been set, such as by [`Model::new_id`].
    pub fn insert_one<'a>(&'a self, document: &'a D) -> InsertOne<'a, D> {
        InsertOne::new(self, document)
    }

    /// Inserts documents, in order until one fails unless [`ordered`](InsertMany::ordered) says otherwise.
    pub fn insert_many<'a>(&'a self, documents: &'a [D]) -> InsertMany<'a, D> {
        InsertMany::new(self, documents)
    }

    /// Finds documents: end with [`all`](Find::all), [`one`](Find::one), [`stream`](Find::stream),
    /// [`page`](Find::page) or [`keyset`](Find::keyset).
    pub fn find(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Find<'_, D> {
        Find::new(self, filter_of(filter))
    }

    /// Finds all documents.
    pub fn find_all(&self) -> Find<'_, D> {
        Find::new(self, Ok(Conditions::none()))
    }

    /// Finds one document; awaited, it gives `None` when nothing matches.
    pub fn find_one(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> FindOne<'_, D> {
        FindOne::new(self, filter_of(filter))
    }

    /// Finds the document of an id.
    pub fn find_by_id(&self, id: impl IntoValue<D::Id>) -> FindOne<'_, D> {
        FindOne::new(self, id_filter::<D>(id))
    }

    /// Counts the documents that match, exactly.
    pub fn count(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Count<'_, D> {
        Count::new(self, filter_of(filter))
    }

    /// Counts all documents from the collection's metadata: quick, and possibly wrong after an unclean shutdown or on a
    /// sharded cluster.
    ///
    /// # Errors
    /// What the driver reports.
    pub async fn estimated_count(&self) -> Result<u64> {
        Ok(self.inner.estimated_document_count().await?)
    }

    /// Whether a document matches.
    ///
    /// # Errors
    /// An invalid filter; what the driver reports.
    pub async fn exists(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Result<bool> {
        let filter = filter_of(filter)?;
        let found = self.inner.find_one(filter).projection(doc! { "_id": 1 }).await?;
        Ok(found.is_some())
    }

    /// The distinct values of a field among the documents that match. For an array name its elements: `o.tags().any()`.
    pub fn distinct<A: AsPath<Root = D>>(
        &self,
        field: impl FnOnce(Fields<D>) -> A,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> Distinct<'_, D, A::Value> {
        Distinct::new(self, field(D::fields()).raw().dotted(), filter_of(filter))
    }

    /// Updates the first document that matches.
    pub fn update_one<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> UpdateOne<'_, D> {
        UpdateOne::new(self, filter_of(filter), update(D::fields()).into_update())
    }

    /// Updates the document of an id.
    pub fn update_by_id<U: IntoUpdate<D>>(
        &self,
        id: impl IntoValue<D::Id>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> UpdateOne<'_, D> {
        UpdateOne::new(self, id_filter::<D>(id), update(D::fields()).into_update())
    }

    /// Updates all documents that match.
    pub fn update_many<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> UpdateMany<'_, D> {
        UpdateMany::new(self, filter_of(filter), update(D::fields()).into_update())
    }

    /// Replaces the first document that matches.
    pub fn replace_one<'a>(
        &'a self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        document: &'a D,
    ) -> Replace<'a, D> {
        Replace::new(self, filter_of(filter), document)
    }

    /// Replaces the stored document of the same id.
    pub fn replace<'a>(&'a self, document: &'a D) -> Replace<'a, D> {
        let id = crate::model::id_value(document).map_err(|e| Error::encode("_id", e));
        Replace::new(self, id.map(Conditions::id), document)
    }

    /// Deletes the first document that matches.
    pub fn delete_one(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D> {
        Delete::new(self, filter_of(filter), false)
    }

    /// Deletes the document of an id.
    pub fn delete_by_id(&self, id: impl IntoValue<D::Id>) -> Delete<'_, D> {
        Delete::new(self, id_filter::<D>(id), false)
    }

    /// Deletes all documents that match.
    pub fn delete_many(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D> {
        Delete::new(self, filter_of(filter), true)
    }

    /// Updates one document and returns it, as it was before unless
    /// [`return_document`](FindOneAnd::return_document) says otherwise.
    pub fn find_one_and_update<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> FindOneAnd<'_, D> {
        FindOneAnd::update(self, filter_of(filter), update(D::fields()).into_update())
    }

    /// Deletes one document and returns it.
    pub fn find_one_and_delete(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> FindOneAnd<'_, D> {
        FindOneAnd::delete(self, filter_of(filter))
    }

    /// Replaces one document and returns it, as it was before unless
    /// [`return_document`](FindOneAnd::return_document) says otherwise.
    pub fn find_one_and_replace(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        document: &D,
    ) -> FindOneAnd<'_, D> {
        FindOneAnd::replace(self, filter_of(filter), document)
    }
}
