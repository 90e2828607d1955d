//! Typed collections: the CRUD operations of a model.

use std::fmt;
use std::marker::PhantomData;

use crate::ast::filter::Node;
use crate::bson::{Bson, RawDocumentBuf};
use crate::driver;
use crate::error::{Error, Result, ValueError};
use crate::filter::Filter;
use crate::model::{Fields, Model};
use crate::path::AsPath;
use crate::path::marker::Readable;
use crate::update::IntoUpdate;
use crate::value::IntoValue;

pub(crate) mod action;
mod bulk;
mod bulk_runs;
mod bulk_versions;
mod client_bulk;
pub(crate) mod decode;
mod delete;
mod distinct;
mod documents;
mod encoded;
mod filtered;
mod find;
mod find_and_modify;
mod gate;
mod handle;
mod insert;
mod keyset;
pub(crate) mod kind;
mod maintained;
mod marks;
pub(crate) mod migrate;
pub(crate) mod outdated;
mod page;
mod pipeline;
mod protection;
mod ranges;
mod read;
mod rows;
mod save;
pub(crate) mod sharded;
mod soft_delete;
mod token;
mod update;
mod upsert;
mod watch;
mod write;

pub use bulk::{Alone, Bulk, Within};
pub use client_bulk::ClientBulk;
pub use delete::Delete;
pub use distinct::Distinct;
pub use documents::Documents;
pub use filtered::Filtered;
pub use find::Find;
pub use find_and_modify::{FindOneAndDelete, FindOneAndReplace, FindOneAndUpdate};
pub use insert::{InsertMany, InsertOne, Insertable};
pub use keyset::KeysetPage;
pub(crate) use keyset::lookup;
pub(crate) use marks::Marks;
pub use migrate::{Migrate, Migration, MigrationFailure, MigrationFailureReason};
pub use page::Page;
pub(crate) use protection::{SAFE_CONTENT, first_encrypted, is_about};
pub use read::{Count, EstimatedCount, Exists, FindOne, FindOneFuture};
use rows::ScopedRows;
pub use save::{Save, Saved};
pub(crate) use soft_delete::Scope;
pub use update::{Replace, UpdateMany, UpdateOne};
pub use watch::{ChangeStream, Watch};

/// A collection whose documents are `D`.
///
/// Clones are cheap. Creating a handle sends nothing. A collection that does not exist reads as
/// empty, and the first insert creates it.
///
/// Each method returns an action, which has setters for options and sends its command when it is
/// awaited. An action that is dropped before it is awaited has no effect. If its future is dropped
/// while it runs, the server may or may not execute the command.
///
/// # Errors
/// Awaiting an action fails with
///
/// - [`Error::InvalidFilter`] or [`Error::InvalidUpdate`] for a filter or an update that the ODM
///   recognizes as invalid, before anything is sent; others the server rejects ([`Error::Driver`]), such as
///   a malformed regular expression, a new value for `_id`, or `$` without a condition on the array;
/// - [`Error::Encode`] for a value that cannot be encoded as BSON;
/// - [`Error::Decode`] for a returned document that does not have the form of `D`;
/// - [`Error::Duplicate`] for a write that violates a unique index;
/// - [`Error::Driver`] for other errors of the server, of the network and of the driver.
///
/// Further errors are listed at the methods. That no document matches is an error only for
/// `required` ([`Error::NotFound`]) and [`Find::one`].
///
/// # Examples
///
/// ```no_run
/// use marula::bson::DateTime;
/// use marula::prelude::*;
/// use marula::{Document, Embedded};
/// use uuid::Uuid;
///
/// #[derive(Embedded)]
/// struct Line {
///     sku: String,
///     qty: i32,
/// }
///
/// #[derive(Document)]
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
///     .find(|o| {
///         o.customer_id().eq(customer)
///             & o.lines().elem_match(|l| l.sku().eq("tea") & l.qty().gte(2))
///     })
///     .sort(|o| o.created_at().desc())
///     .limit(20)
///     .all()
///     .await?;
/// orders
///     .update_one(
///         |o| o.id().eq(order.id),
///         |o| o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().inc(1),
///     )
///     .await?;
/// # drop(recent);
/// # Ok(()) }
/// ```
pub struct Collection<D> {
    inner: driver::Collection<RawDocumentBuf>,
    /// Which documents of a model with soft deletion the operations find.
    scope: Scope,
    /// The fields that [`scoped`](Collection::scoped) fixes.
    rows: ScopedRows,
    document: PhantomData<fn() -> D>,
}

impl<D> Clone for Collection<D> {
    fn clone(&self) -> Self {
        self.with_inner(self.inner.clone())
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

const NULL_ARGUMENT: &str = "the id argument is `None`, which no stored document has as its id; pass the id of a stored \
                             document, or use a filter";
const NULL_IN_REPLACEMENT: &str = "the id of the document argument is `None`, so it does not identify the document to \
                                   replace; set it, or use `replace_one(..)` with a filter";

/// A filter from a closure over the model's fields.
fn filter_of<D: Model>(filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Result<Node> {
    filter(D::fields()).into_node()
}

impl<D: Model> Collection<D> {
    /// The filter of one id. Null is rejected: the ODM writes no document with the id null.
    fn id_filter(&self, id: Result<Bson, ValueError>, none: &'static str) -> Result<Node> {
        match id.map_err(|e| Error::encode("_id", e))? {
            Bson::Null => Err(self.missing_id(none)),
            id => Ok(Node::id(id)),
        }
    }

    /// Inserts a document. The output of the action contains the id.
    ///
    /// An id that is not an `Option` is stored as it is: generate it with [`Model::new_id`]. If the
    /// id is an `Option` that is `None`, the inserted document has a new id from the model's id
    /// source, returned as [`inserted_id`](crate::driver::InsertOneResult::inserted_id). The call
    /// fails with [`Error::MissingId`] if the model has no source.
    ///
    /// The stored times of the [maintained fields](derive@crate::Document#maintained-fields) are
    /// those of the insert, whatever the struct holds. Takes `&document` or `&mut document`: an
    /// insert writes these times to `&mut document`, also if the write concern was not satisfied. An id that
    /// was `None` is written before the document is sent, and stays if the call fails or its future is
    /// dropped: the server may have stored the document, and a second insert then fails with
    /// [`Error::Duplicate`] instead of storing it twice.
    ///
    /// Fails with [`Error::Validation`] and [`Error::Hook`] if the model declares these.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let result = orders.insert_one(&order(4)).await?;
    /// assert_eq!(result.inserted_id, 4_i64.into());
    /// # Ok(()) });
    /// ```
    pub fn insert_one<'a>(&'a self, document: impl Saved<'a, D>) -> InsertOne<'a, D> {
        InsertOne::new(self, document.into_reference())
    }

    /// Inserts documents from any iterator of documents or of references to them. The output of the
    /// action contains the ids. For ids that are `None`, and for maintained fields, see
    /// [`insert_one`](Collection::insert_one): of references `&mut document`, such as those of
    /// `iter_mut()`, all have their ids, and those that were inserted the times, also after an error.
    ///
    /// Without documents, nothing is sent, and the output is empty. The documents are inserted in
    /// order until one fails, unless [`ordered`](InsertMany::ordered) is set to false. Documents that
    /// were inserted before an error stay inserted.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// orders.insert_many((4..=6).map(order)).await?; // documents, or references to them
    /// assert_eq!(orders.estimated_count().await?, 6);
    /// # Ok(()) });
    /// ```
    pub fn insert_many<'a>(
        &'a self,
        documents: impl IntoIterator<Item: Insertable<'a, D>>,
    ) -> InsertMany<'a, D> {
        let documents = documents.into_iter().map(Insertable::into_item);
        InsertMany::new(self, documents.collect())
    }

    /// Finds the documents that match. For a [`Filter`] value use
    /// [`collection.filter(f).find()`](Collection::filter).
    ///
    /// The query is run by [`all`](Find::all), [`first`](Find::first), [`one`](Find::one),
    /// [`stream`](Find::stream), [`page`](Find::page) or [`keyset`](Find::keyset).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let large = orders.find(|o| o.total().gt(100) & o.tags().size(0)).sort(|o| o.total().desc()).await?;
    /// assert_eq!(large.len(), 2);
    /// # Ok(()) });
    /// ```
    pub fn find(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Find<'_, D> {
        Find::new(self, filter_of(filter))
    }

    /// The operations with a [`Filter`] value in place of a closure.
    ///
    /// ```no_run
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(Document)]
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

    /// Finds all documents of the collection. A filter can be added with [`Find::filter`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let newest = orders.find_all().sort(|o| o.created_at().desc()).limit(2).await?;
    /// assert_eq!(newest.len(), 2);
    /// # Ok(()) });
    /// ```
    pub fn find_all(&self) -> Find<'_, D> {
        Find::new(self, Ok(Node::Default))
    }

    /// The distinct values of a field in the documents that match. For an array give the path of
    /// its elements, `o.tags().any()`: `distinct` returns elements, and the array itself is rejected.
    ///
    /// All values are in one reply; if they exceed 16 MiB, the server returns an error.
    ///
    /// For a field of an enum variant only documents with this variant are read. The call fails
    /// with [`Error::InvalidFilter`] for an invalid path, and with [`Error::InvalidArgument`] for an array
    /// and for a variant with a tag inside an array, because `distinct` cannot select elements.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let skus: Vec<String> = orders.distinct(|o| o.lines().sku(), |o| o.total().gt(0)).await?;
    /// assert_eq!(skus, ["cup", "tea"]);
    /// # Ok(()) });
    /// ```
    pub fn distinct<A: AsPath<Root = D, Mode: Readable>>(
        &self,
        field: impl FnOnce(Fields<D>) -> A,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> Distinct<'_, D, A::Value> {
        let field = field(D::fields());
        Distinct::new(
            self,
            field.raw(),
            distinct::not_an_array(&field).and_then(|()| filter_of(filter)),
        )
    }

    /// Updates one document that matches: the first in the order of [`sort`](UpdateOne::sort).
    ///
    /// It is not an error if no document matches; see [`required`](UpdateOne::required). As for
    /// every write, a filter that was combined from no conditions is rejected with
    /// [`Error::InvalidFilter`]; see [`Filter::everything`]. An update without operators is
    /// rejected with [`Error::InvalidUpdate`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let paid = orders.update_one(
    ///     |o| o.id().eq(1) & o.status().eq(Status::Open),
    ///     |o| (o.status().set(Status::Paid), o.tags().push("paid")),
    /// );
    /// assert_eq!(paid.await?.modified_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn update_one<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> UpdateOne<'_, D> {
        UpdateOne::new(self, filter_of(filter), update(D::fields()).into_update())
    }

    /// Updates the document with this id. It is not an error if there is none; see
    /// [`required`](UpdateOne::required). The call fails with [`Error::MissingId`] if the id is
    /// `None`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// orders.update_by_id(1, |o| o.total().inc(50)).required().await?;
    /// assert_eq!(orders.find_by_id(1).required().await?.total, 150);
    /// # Ok(()) });
    /// ```
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

    /// Updates all documents that match.
    ///
    /// To update all documents of the collection use [`Filter::everything`]: a filter that was
    /// combined from no conditions is rejected with [`Error::InvalidFilter`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = orders.update_many(|o| o.total().lt(250), |o| o.tags().add_to_set("small")).await?;
    /// assert_eq!(done.modified_count, 2);
    /// # Ok(()) });
    /// ```
    pub fn update_many<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> UpdateMany<'_, D> {
        UpdateMany::new(self, filter_of(filter), update(D::fields()).into_update())
    }

    /// Replaces one document that matches: the first in the order of [`sort`](Replace::sort).
    ///
    /// If the id of `document` is `None`, the stored document keeps its id. Otherwise it must be
    /// the id of the stored document; a different one is an error of the server. It is not an error
    /// if no document matches; see [`required`](Replace::required). A filter that was combined from
    /// no conditions is rejected with [`Error::InvalidFilter`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let paid = Order { status: Status::Paid, ..order(1) };
    /// orders.replace_one(|o| o.id().eq(1) & o.status().eq(Status::Open), &paid).required().await?;
    /// # Ok(()) });
    /// ```
    pub fn replace_one<'a>(
        &'a self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        document: &'a D,
    ) -> Replace<'a, D> {
        Replace::new(self, filter_of(filter), document)
    }

    /// Replaces the stored document with the same id. Fails with [`Error::MissingId`] if the id is
    /// `None`.
    ///
    /// If it does not exist, nothing is written and `matched_count` is 0; with
    /// [`required`](Replace::required) this is an error. If the model has a
    /// [version](derive@crate::Document#maintained-fields) that is not that of the stored document,
    /// the call fails with [`Error::VersionConflict`], also if the document does not exist and the version is
    /// not 0: it was deleted.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut order = orders.find_by_id(1).required().await?;
    /// order.note = Some("ring twice".to_owned());
    /// orders.replace(&order).required().await?;
    /// # Ok(()) });
    /// ```
    pub fn replace<'a>(&'a self, document: &'a D) -> Replace<'a, D> {
        Replace::new(
            self,
            self.id_filter(crate::model::id_value(document), NULL_IN_REPLACEMENT),
            document,
        )
    }

    /// Deletes one document that matches. The output of the action is the number of deleted
    /// documents, 0 or 1; see [`required`](Delete::required). A filter that was combined from no
    /// conditions is rejected with [`Error::InvalidFilter`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.delete_one(|o| o.status().eq(Status::Open)).await?, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_one(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D> {
        Delete::new(self, filter_of(filter), false)
    }

    /// Deletes the document with this id. It is not an error if there is none; see
    /// [`required`](Delete::required). The call fails with [`Error::MissingId`] if the id is
    /// `None`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// orders.delete_by_id(1).required().await?;
    /// assert_eq!(orders.delete_by_id(1).await?, 0);
    /// # Ok(()) });
    /// ```
    pub fn delete_by_id(&self, id: impl IntoValue<D::Id>) -> Delete<'_, D> {
        Delete::new(self, self.id_filter(id.into_value(), NULL_ARGUMENT), false)
    }

    /// Deletes all documents that match. For a [`Filter`] value use
    /// [`collection.filter(f).delete_many()`](Collection::filter).
    ///
    /// To delete all documents of the collection use [`Filter::everything`]: a filter that was
    /// combined from no conditions is rejected with [`Error::InvalidFilter`].
    ///
    /// ```no_run
    /// # use marula::{Document, Error, Filter, prelude::*};
    /// # #[derive(Document)]
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
    /// [`returning_new`](FindOneAndUpdate::returning_new) is called. The output of the action is
    /// `None` if no document matches; see [`required`](FindOneAndUpdate::required).
    ///
    /// With an unacknowledged write concern (`w: 0`) the output is always `None`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let taken = orders
    ///     .find_one_and_update(|o| o.status().eq(Status::Open), |o| o.status().set(Status::Paid))
    ///     .sort(|o| o.created_at().asc())
    ///     .returning_new()
    ///     .await?;
    /// assert_eq!(taken.map(|o| (o.id, o.status)), Some((1, Status::Paid)));
    /// # Ok(()) });
    /// ```
    pub fn find_one_and_update<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> FindOneAndUpdate<'_, D> {
        FindOneAndUpdate::new(self, filter_of(filter), update(D::fields()).into_update())
    }
}
