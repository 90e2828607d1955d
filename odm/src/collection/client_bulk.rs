//! [`Client::bulk`](crate::Client::bulk): several writes on the collections of several models.

use crate::collection::action::{Session, awaitable, forward_options, in_session};
use crate::collection::bulk::{self, Writes};
use crate::collection::{Collection, filter_of, save};
use crate::driver::options::ClientBulkWriteOptions;
use crate::driver::{self, ClientBulkWriteResult, ClientWriteModel, WriteModel};
use crate::error::{BulkOperation, Result};
use crate::filter::Filter;
use crate::model::{Fields, Model};
use crate::observe::Call;
use crate::update::IntoUpdate;
use crate::value::IntoValue;

/// Several writes on several collections. Output: the counts, and with
/// [`verbose_results`](ClientBulk::verbose_results) the result of each write. See
/// [`Client::bulk`](crate::Client::bulk).
#[must_use = "nothing is sent before the action is awaited"]
pub struct ClientBulk<'a> {
    client: &'a driver::Client,
    writes: Writes<ClientWriteModel>,
    options: ClientBulkWriteOptions,
    session: Session<'a>,
}

impl<'a> ClientBulk<'a> {
    pub(crate) fn new(client: &'a driver::Client) -> Self {
        ClientBulk {
            client,
            writes: Writes::default(),
            options: ClientBulkWriteOptions::default(),
            session: None,
        }
    }

    driver::__client_bulk_write_options! { forward_options { options: ClientBulkWriteOptions } }

    fn push<D: Model>(
        mut self,
        collection: &Collection<D>,
        operation: &'static str,
        model: Result<WriteModel>,
    ) -> Self {
        let namespace = collection.namespace().clone();
        let model = model.map(|model| ClientWriteModel::new(namespace, model));
        self.writes.push::<D>(operation, model);
        self
    }

    /// Inserts a document, as [`Collection::insert_one`] does. It is encoded when it is added.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().insert(&orders, &order(4)).await?;
    /// assert_eq!(done.inserted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn insert<D: Model>(self, collection: &Collection<D>, document: &D) -> Self {
        let model = bulk::insert(collection, document);
        self.push(collection, "insert", model)
    }

    /// Updates one document that matches, as [`Collection::update_one`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().update_one(&orders, |o| o.id().eq(1), |o| o.total().inc(1)).await?;
    /// assert_eq!(done.modified_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn update_one<D: Model, U: IntoUpdate<D>>(
        self,
        collection: &Collection<D>,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        let change = change(D::fields()).into_update();
        let model = bulk::update(collection, filter_of(filter), change, [false, false]);
        self.push(collection, "update_one", model)
    }

    /// Updates the document with this id, as [`Collection::update_by_id`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().update_by_id(&orders, 1, |o| o.total().inc(1)).await?;
    /// assert_eq!(done.modified_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn update_by_id<D: Model, U: IntoUpdate<D>>(
        self,
        collection: &Collection<D>,
        id: impl IntoValue<D::Id>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        let change = change(D::fields()).into_update();
        let model = bulk::update(collection, bulk::by_id(collection, id), change, [false, false]);
        self.push(collection, "update_by_id", model)
    }

    /// Updates all documents that match, as [`Collection::update_many`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().update_many(&orders, |o| o.id().eq(1), |o| o.total().inc(1)).await?;
    /// assert_eq!(done.modified_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn update_many<D: Model, U: IntoUpdate<D>>(
        self,
        collection: &Collection<D>,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        let change = change(D::fields()).into_update();
        let model = bulk::update(collection, filter_of(filter), change, [true, false]);
        self.push(collection, "update_many", model)
    }

    /// Updates one document that matches, or inserts one, as [`Collection::update_one`] does with
    /// [`upsert`](crate::collection::UpdateOne::upsert).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().upsert_one(&orders, |o| o.id().eq(9), |o| o.total().set(1)).await?;
    /// assert_eq!(done.upserted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn upsert_one<D: Model, U: IntoUpdate<D>>(
        self,
        collection: &Collection<D>,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        let change = change(D::fields()).into_update();
        let model = bulk::update(collection, filter_of(filter), change, [false, true]);
        self.push(collection, "upsert_one", model)
    }

    /// Replaces one document that matches, as [`Collection::replace_one`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().replace_one(&orders, |o| o.customer().eq(1), &order(1)).await?;
    /// assert_eq!(done.matched_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn replace_one<D: Model>(
        self,
        collection: &Collection<D>,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        document: &D,
    ) -> Self {
        let model = bulk::replace(collection, filter_of(filter), document);
        self.push(collection, "replace_one", model)
    }

    /// Replaces the stored document with the same id, as [`Collection::replace`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().replace(&orders, &order(1)).await?;
    /// assert_eq!(done.matched_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn replace<D: Model>(self, collection: &Collection<D>, document: &D) -> Self {
        let model = bulk::replace(collection, bulk::by_id_of(collection, document), document);
        self.push(collection, "replace", model)
    }

    /// Replaces the stored document with the same id, or inserts the document, as
    /// [`Collection::save`] does. The struct is not changed. If another version is stored, the write
    /// fails with a duplicate key of `_id`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().save(&orders, &order(9)).await?;
    /// assert_eq!(done.upserted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn save<D: Model>(self, collection: &Collection<D>, document: &D) -> Self {
        let model = save::model(collection, document);
        self.push(collection, "save", model)
    }

    /// Deletes one document that matches, as [`Collection::delete_one`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().delete_one(&orders, |o| o.id().eq(1)).await?;
    /// assert_eq!(done.deleted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_one<D: Model>(
        self,
        collection: &Collection<D>,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> Self {
        let model = bulk::delete(collection, filter_of(filter), false);
        self.push(collection, "delete_one", model)
    }

    /// Deletes the document with this id, as [`Collection::delete_by_id`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().delete_by_id(&orders, 1).await?;
    /// assert_eq!(done.deleted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_by_id<D: Model>(self, collection: &Collection<D>, id: impl IntoValue<D::Id>) -> Self {
        let model = bulk::delete(collection, bulk::by_id(collection, id), false);
        self.push(collection, "delete_by_id", model)
    }

    /// Deletes all documents that match, as [`Collection::delete_many`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let done = client.bulk().delete_many(&orders, |o| o.id().eq(1)).await?;
    /// assert_eq!(done.deleted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_many<D: Model>(
        self,
        collection: &Collection<D>,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> Self {
        let model = bulk::delete(collection, filter_of(filter), true);
        self.push(collection, "delete_many", model)
    }

    #[expect(
        clippy::unused_self,
        reason = "the same signature as that of the other actions"
    )]
    fn call(&self) -> Call {
        Call::of_client("bulk")
    }

    async fn run(self) -> Result<ClientBulkWriteResult> {
        let (operations, models) = self.writes.into_parts()?;
        if models.is_empty() {
            let mut nothing = ClientBulkWriteResult::default();
            nothing.acknowledged = true;
            return Ok(nothing);
        }
        let writing = self.client.bulk_write(models).with_options(self.options);
        let sending = in_session!(self.session, writing).into_future();
        sending.await.map_err(|e| BulkOperation::failed(&operations, e))
    }
}

awaitable!(['a] ClientBulk<'a> => ClientBulkWriteResult);
