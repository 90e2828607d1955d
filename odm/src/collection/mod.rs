//! Typed collections: CRUD calls on models, and the way from them to the driver.

use std::fmt;
use std::marker::PhantomData;

use crate::bson::{Bson, RawDocumentBuf};
use crate::driver::{self, Namespace, options};
use crate::error::{Error, Result, ValueError};
use crate::filter::{Conditions, Filter};
use crate::model::{Fields, Model};
use crate::path::AsPath;
use crate::path::marker::Readable;
use crate::update::IntoUpdate;
use crate::value::IntoValue;

mod action;
mod decode;
mod delete;
mod documents;
mod filtered;
mod find;
mod find_and_modify;
mod insert;
mod keyset;
mod page;
mod pipeline;
mod read;
mod token;
mod update;
mod write;

pub use delete::Delete;
pub use documents::Documents;
pub use filtered::Filtered;
pub use find::Find;
pub use find_and_modify::{FindOneAndDelete, FindOneAndReplace, FindOneAndUpdate};
pub use insert::{InsertMany, InsertOne};
pub use keyset::KeysetPage;
pub use page::Page;
pub use read::{Count, Distinct, EstimatedCount, Exists, FindOne, FindOneFuture};
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

    fn missing_id(&self, reason: &'static str) -> Error {
        Error::MissingId {
            collection: self.inner.namespace().to_string(),
            reason,
        }
    }
}

const NULL_ARGUMENT: &str = "the id that the call was given is `None`, which is the id of no document; pass the id of a stored \
                             document, or use a filter";
const NULL_IN_REPLACEMENT: &str = "the id of the document that the call was given is `None`, so nothing shows which document to \
                                   replace; set it, or use `replace_one(..)` with a filter";

/// A filter from a closure over the model's fields.
fn filter_of<D: Model>(filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Result<Conditions> {
    filter(D::fields()).into_conditions()
}

impl<D: Model> Collection<D> {
    /// The filter of one id. Null is no id of a document that the ODM has written.
    fn id_filter(&self, id: Result<Bson, ValueError>, none: &'static str) -> Result<Conditions> {
        match id.map_err(|e| Error::encode("_id", e))? {
            Bson::Null => Err(self.missing_id(none)),
            id => Ok(Conditions::id(id)),
        }
    }

    /// Inserts a document; awaited, it gives the id.
    ///
    /// An id that is not an `Option` must have been set, such as by [`Model::new_id`]. Where it is an `Option` that is `None`,
    /// the inserted document gets a new id by the model's source of ids, which comes back as
    /// [`inserted_id`](crate::driver::InsertOneResult::inserted_id), and [`Error::MissingId`] says that there is no source.
    pub fn insert_one<'a>(&'a self, document: &'a D) -> InsertOne<'a, D> {
        InsertOne::new(self, document)
    }

    /// Inserts documents, in order until one fails unless [`ordered`](InsertMany::ordered) says otherwise; awaited, it gives
    /// the ids. For ids that are `None` see [`insert_one`](Collection::insert_one).
    pub fn insert_many<'a>(&'a self, documents: &'a [D]) -> InsertMany<'a, D> {
        InsertMany::new(self, documents)
    }

    /// Finds documents that match; [`collection.filter(f).find()`](Collection::filter) takes a filter that was made before.
    ///
    /// End with [`all`](Find::all), [`one`](Find::one), [`stream`](Find::stream),
    /// [`page`](Find::page) or [`keyset`](Find::keyset).
    pub fn find(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Find<'_, D> {
        Find::new(self, filter_of(filter))
    }

    /// The calls with a filter that was made before, such as one that is stored or that a function returns.
    ///
    /// ```no_run
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let minors: Filter<Person> = Person::fields().age().lt(18);
    /// let count = people.filter(minors.clone()).count().await?;
    /// let deleted = people.filter(minors).delete_many().await?;
    /// # drop((count, deleted)); Ok(()) }
    /// ```
    pub fn filter(&self, filter: Filter<D>) -> Filtered<'_, D> {
        Filtered::new(self, filter)
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
        FindOne::new(self, self.id_filter(id.into_value(), NULL_ARGUMENT))
    }

    /// Counts the documents that match, exactly.
    pub fn count(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Count<'_, D> {
        Count::new(self, filter_of(filter))
    }

    /// Counts all documents from the collection's metadata: fast, and possibly wrong after an unclean shutdown or on a
    /// sharded cluster.
    pub fn estimated_count(&self) -> EstimatedCount<'_> {
        EstimatedCount::new(self)
    }

    /// Whether a document matches.
    ///
    /// Awaited, the call fails with [`Error::InvalidFilter`] for an invalid filter, and with what the driver reports.
    pub fn exists(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Exists<'_, D> {
        Exists::new(self, filter_of(filter))
    }

    /// The distinct values of a field among the documents that match. For an array name its elements: `o.tags().any()`.
    ///
    /// Through an enum variant these are the values of documents that hold the variant. Awaited, the call fails with
    /// [`Error::InvalidFilter`] for a path that cannot be sent, and with [`Error::InvalidArgument`] for a variant with a tag
    /// inside an array: `distinct` cannot select elements.
    pub fn distinct<A: AsPath<Root = D, Mode: Readable>>(
        &self,
        field: impl FnOnce(Fields<D>) -> A,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> Distinct<'_, D, A::Value> {
        Distinct::new(self, field(D::fields()).raw(), filter_of(filter))
    }

    /// Updates the first document that matches.
    ///
    /// No document need match: see [`required`](UpdateOne::required). Like every write it refuses a filter that was put
    /// together from no conditions, with [`Error::InvalidFilter`]; see [`Filter::everything`].
    pub fn update_one<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> UpdateOne<'_, D> {
        UpdateOne::new(self, filter_of(filter), update(D::fields()).into_update())
    }

    /// Updates the document of an id. There need not be one: see [`required`](UpdateOne::required).
    pub fn update_by_id<U: IntoUpdate<D>>(
        &self,
        id: impl IntoValue<D::Id>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> UpdateOne<'_, D> {
        UpdateOne::new(
            self,
            self.id_filter(id.into_value(), NULL_ARGUMENT),
            update(D::fields()).into_update(),
        )
    }

    /// Updates all documents that match. For every document of the collection the filter must be [`Filter::everything`]: one
    /// that was put together from no conditions is refused with [`Error::InvalidFilter`].
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

    /// Replaces the stored document of the same id. [`Error::MissingId`] when the id is `None`.
    ///
    /// Nothing is written when there is no such document: the result then says `matched_count: 0`, and
    /// [`required`](Replace::required) makes it an error.
    pub fn replace<'a>(&'a self, document: &'a D) -> Replace<'a, D> {
        Replace::new(
            self,
            self.id_filter(crate::model::id_value(document), NULL_IN_REPLACEMENT),
            document,
        )
    }

    /// Deletes the first document that matches.
    pub fn delete_one(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D> {
        Delete::new(self, filter_of(filter), false)
    }

    /// Deletes the document of an id. There need not be one: see [`required`](Delete::required).
    pub fn delete_by_id(&self, id: impl IntoValue<D::Id>) -> Delete<'_, D> {
        Delete::new(self, self.id_filter(id.into_value(), NULL_ARGUMENT), false)
    }

    /// Deletes all documents that match; [`collection.filter(f).delete_many()`](Collection::filter) takes a filter that was made
    /// before.
    ///
    /// For every document of the collection the filter must be [`Filter::everything`]: one
    /// that was put together from no conditions is refused with [`Error::InvalidFilter`].
    ///
    /// ```no_run
    /// # use marula::{Document, Error, Filter, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>, age: Option<i32>) -> marula::Result<()> {
    /// let deleted = people.delete_many(|p| Filter::all_some([age.map(|a| p.age().eq(a))])).await;
    /// if age.is_none() {
    ///     assert!(matches!(deleted, Err(Error::InvalidFilter { .. })));
    /// }
    /// people.delete_many(|_| Filter::everything()).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete_many(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D> {
        Delete::new(self, filter_of(filter), true)
    }

    /// Updates one document and returns it, as it was before the update unless
    /// [`return_document`](FindOneAndUpdate::return_document) is set.
    pub fn find_one_and_update<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> FindOneAndUpdate<'_, D> {
        FindOneAndUpdate::new(self, filter_of(filter), update(D::fields()).into_update())
    }

    /// Deletes one document and returns it.
    pub fn find_one_and_delete(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> FindOneAndDelete<'_, D> {
        FindOneAndDelete::new(self, filter_of(filter))
    }

    /// Replaces one document and returns it, as it was before the replacement unless
    /// [`return_document`](FindOneAndReplace::return_document) is set.
    pub fn find_one_and_replace(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        document: &D,
    ) -> FindOneAndReplace<'_, D> {
        FindOneAndReplace::new(self, filter_of(filter), document.into())
    }
}
