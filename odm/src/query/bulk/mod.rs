//! [`Collection::bulk`]: several writes on one collection, in as few commands as possible.
//!
//! The writes of a collection in [`Client::bulk`](crate::Client::bulk) are collected by the same builder.

pub(crate) mod client;
pub(crate) mod runs;
pub(crate) mod save;
pub(crate) mod upgrades;
pub(crate) mod versions;

use std::marker::PhantomData;

use crate::{
    ast::filter::Node,
    base::{
        error::{BulkOperation, Error, Result},
        stage_versions::requiring,
        time_limit::TimeLimit,
    },
    document::kind,
    driver::{
        self, BulkWriteResult, WriteModel,
        options::{BulkWriteOptions, PrecedingOptions},
    },
    models::model::{Fields, Model, id_value},
    query::{
        bulk::{
            runs::Runs,
            save::saved,
            upgrades::{perform, take_upgrades},
            versions::{Built, Effect, Replaced, runs_of},
        },
        handle::{
            Collection, NULL_ARGUMENT, NULL_IN_REPLACEMENT,
            action::{Session, awaitable, forward_options},
            filter_of,
            gate::{How, Targets, Writing},
            sharded::explained_in_bulk,
            soft_delete::deletion,
        },
        observe::Call,
        write::{
            encoded::{Encoded, for_insert, for_replacement},
            outdated::{Upgrade, guarded},
            shard_key::targeted_if,
        },
    },
    term::{
        filter::Filter,
        update::{IntoUpdate, Update},
    },
    values::value::IntoValue,
};

impl<D: Model> Collection<D> {
    /// Several writes on this collection, which are sent in as few commands as possible when the
    /// action is awaited. For several models use [`Client::bulk`](crate::Client::bulk).
    ///
    /// Without writes, nothing is sent, and all counts are 0. The writes are performed in order until
    /// one is rejected, unless [`ordered`](Bulk::ordered) is set to false. Updates, replacements and deletes of
    /// documents with [encrypted fields](crate::encryption) are sent one by one, because the server requires it.
    ///
    /// # Shard keys
    /// The filters of [`replace`](Bulk::replace) and [`save`](Bulk::save) contain the [shard
    /// key](crate::guide::schema#shard-keys) of the document beside its id. A bulk write does not search for a document with the same
    /// id and another shard key, as [`Collection::save`] does: the replacement of a struct with a changed shard key
    /// matches no document, and its save inserts a second document with the same id on a sharded cluster.
    ///
    /// # Versions
    /// A replacement or a save that meets [another version](derive@crate::Document#maintained-fields) has no
    /// effect, and is a failed write with [`is_version_conflict`](crate::error::FailedWrite::is_version_conflict).
    /// A save stops an ordered bulk write, because the server rejects it; the writes after a replacement are
    /// performed. The server replies with counts only: if fewer documents matched than were replaced, they
    /// are read and compared with the replacements, after the replacements and before updates, and further
    /// replacements of the same documents, that follow them, which are sent separately. A document that
    /// another client changes meanwhile can be reported although it was replaced. Replacements by a filter
    /// whose document has no id are compared with the first document that the filter finds. In place of that,
    /// [`Client::bulk`](crate::Client::bulk) (MongoDB 8.0+) has the result of each write. Conflicts are not
    /// reported without acknowledgment (`w: 0`), nor with a rejected write in a transaction, which the server
    /// has aborted. A `timeout` applies to each of the parts that are sent separately.
    ///
    /// ```no_run
    /// # use marula::{Document, Error, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>, ada: Person) -> marula::Result<()> {
    /// let result = people
    ///     .bulk()
    ///     .insert(&ada)
    ///     .update_many(|p| p.age().lt(18), |p| p.age().inc(1))
    ///     .delete_by_id(7)
    ///     .await;
    /// match result {
    ///     Ok(counts) => println!("{} inserted", counts.inserted_count),
    ///     Err(Error::BulkWrite { failed, performed, .. }) => {
    ///         println!("failed: {failed:?}, {} inserted", performed.inserted_count);
    ///     }
    ///     Err(other) => return Err(other),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::BulkWrite`] if the server rejects writes, for a version conflict, and for other errors after
    /// writes were performed, such as a write concern error; it contains the results of the writes that were
    /// performed. [`Error::InvalidBulkWrite`] if a write is invalid, so that nothing was sent. Both contain the
    /// index and the model of the write.
    /// Otherwise the [errors of the action](Collection#errors).
    pub fn bulk(&self) -> Bulk<'_, D> {
        Bulk::new(self, Writes::default())
    }
}

/// Several writes on one collection. Output: the counts, and the ids of inserted and upserted
/// documents by the index of the write. See [`Collection::bulk`].
///
/// `At` is the kind of the bulk write: [`Alone`], one of this collection, which has setters for options and can be
/// awaited; or [`Within`], the writes on this collection in a bulk write of a client, which has the options
/// ([`ClientBulk`](crate::collection::ClientBulk)).
#[must_use = "nothing is sent before the action is awaited"]
pub struct Bulk<'a, D, At = Alone> {
    collection: &'a Collection<D>,
    writes: Writes<WriteModel>,
    options: BulkWriteOptions,
    session: Session<'a>,
    at: PhantomData<At>,
}

/// The writes of a [`Bulk`] are a bulk write on one collection: [`Collection::bulk`].
///
/// The type has no values.
///
/// ```
/// use marula::collection::{Alone, Bulk};
/// fn same<D>(bulk: Bulk<'_, D>) -> Bulk<'_, D, Alone> {
///     bulk
/// }
/// # drop(same::<()>);
/// ```
#[derive(Debug)]
pub enum Alone {}

/// The writes of a [`Bulk`] are the part of one collection in a bulk write of the client:
/// [`ClientBulk::on`](crate::collection::ClientBulk::on).
///
/// The type has no values. A function that adds writes to both kinds of bulk writes is generic:
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// use marula::collection::Bulk;
/// fn paid<At>(bulk: Bulk<'_, Order, At>, id: i64) -> Bulk<'_, Order, At> {
///     bulk.update_by_id(id, |o| o.status().set(Status::Paid))
/// }
/// assert_eq!(paid(orders.bulk(), 1).await?.matched_count, 1);
/// assert_eq!(client.bulk().on(&orders, |b| paid(b, 2)).await?.matched_count, 1);
/// # Ok(()) });
/// ```
#[derive(Debug)]
pub enum Within {}

/// Writes of a call, or the error of the first that is invalid.
pub(in crate::query) struct Writes<T> {
    /// The number of writes of the call before these.
    before: usize,
    operations: Vec<BulkOperation>,
    built: Vec<Built<T>>,
    invalid: Option<Error>,
}

impl<T> Default for Writes<T> {
    fn default() -> Self {
        Writes::after(0)
    }
}

impl<T> Writes<T> {
    fn after(before: usize) -> Self {
        Writes {
            before,
            operations: Vec::new(),
            built: Vec::new(),
            invalid: None,
        }
    }

    /// The names of the writes.
    pub(in crate::query) fn operations(&self) -> &[BulkOperation] {
        &self.operations
    }

    /// The number of writes of the call up to and with these.
    fn count(&self) -> usize {
        self.before + self.operations.len()
    }

    fn push<D: Model>(&mut self, operation: &'static str, built: Result<Built<T>>) {
        let operation = BulkOperation::new(self.count(), D::NAME, operation);
        match built {
            Ok(built) => self.built.push(built),
            Err(source) if self.invalid.is_none() => self.invalid = Some(invalid(&operation, source)),
            Err(_) => {}
        }
        self.operations.push(operation);
    }

    /// The writes that follow these in the call, if there are any.
    pub(in crate::query) fn following<'c, D: Model>(
        &self,
        on: &'c Collection<D>,
        writes: impl FnOnce(Bulk<'c, D, Within>) -> Bulk<'c, D, Within>,
    ) -> Option<Writes<WriteModel>> {
        let part = writes(Bulk::new(on, Writes::after(self.count()))).writes;
        (!part.operations.is_empty()).then_some(part)
    }

    /// Makes the first of these writes invalid.
    pub(in crate::query) fn refuse(&mut self, source: Error) {
        if let Some(first) = self.operations.first() {
            self.invalid = Some(invalid(first, source));
        }
    }

    pub(in crate::query) fn append<U>(&mut self, part: Writes<U>, change: impl Fn(U) -> T) {
        self.operations.extend(part.operations);
        self.built
            .extend(part.built.into_iter().map(|built| built.map(&change)));
        self.invalid = self.invalid.take().or(part.invalid);
    }

    pub(in crate::query) fn into_parts(self) -> Result<(Vec<BulkOperation>, Vec<Built<T>>)> {
        match self.invalid {
            Some(error) => Err(error),
            None => Ok((self.operations, self.built)),
        }
    }
}

fn invalid(operation: &BulkOperation, source: Error) -> Error {
    Error::InvalidBulkWrite {
        operation: operation.clone(),
        source: Box::new(source),
    }
}

fn insert<D: Model>(collection: &Collection<D>, document: &D) -> Result<Built<WriteModel>> {
    let (document, _) = for_insert(&collection.gate()?, document)?;
    Ok(Built {
        model: WriteModel::insert_one(&*document),
        effect: Effect::MatchesNone,
        requirement: None,
    })
}

fn update<D: Model>(
    collection: &Collection<D>,
    filter: Result<Node>,
    update: Update<D>,
    [many, upsert]: [bool; 2],
) -> Result<Built<WriteModel>> {
    let id = filter.as_ref().ok().filter(|filter| filter.is_only("_id"));
    let id = id.and_then(|filter| filter.equality("_id")).cloned();
    let how = How {
        targets: if many {
            Targets::Many("update_many")
        } else {
            Targets::One
        },
        upsert,
        scope: collection.scope,
    };
    let mut prepared = collection.gate()?.update(filter, update, how)?;
    let upgrade = match &id {
        Some(id) => Upgrade::before_id(collection, id),
        None => Upgrade::before(collection, &prepared.filter, true, PrecedingOptions::default()),
    };
    if !upsert {
        prepared.filter = guarded::<D>(prepared.filter);
    }
    let mut built = of_prepared(prepared, [many, upsert]);
    if let Some(upgrade) = upgrade {
        built.effect = Effect::MatchesUpgraded(upgrade);
    }
    Ok(built)
}

/// An update without an upgrade.
fn of_prepared(prepared: Writing, [many, upsert]: [bool; 2]) -> Built<WriteModel> {
    let change = prepared.update;
    let mut model = if many {
        WriteModel::update_many(prepared.filter, change)
    } else {
        WriteModel::update_one(prepared.filter, change)
    };
    if !prepared.array_filters.is_empty() {
        model = model.array_filters(prepared.array_filters);
    }
    Built {
        model: if upsert { model.upsert(true) } else { model },
        effect: Effect::Matches,
        requirement: prepared.requirement,
    }
}

fn replace<D: Model>(
    collection: &Collection<D>,
    filter: Result<Node>,
    document: &D,
    is_of_document: bool,
) -> Result<Built<WriteModel>> {
    let gate = collection.gate()?;
    gate.check_documents()?;
    let is_by_id = filter.as_ref().is_ok_and(|filter| filter.is_only("_id"));
    let filter = gate.write(filter, Targets::One)?;
    let document = for_replacement(&gate, document)?;
    let filter = targeted_if::<D>(is_of_document, filter, &document.raw);
    let must_exist = is_by_id && document.was_stored();
    let Encoded { raw, version, .. } = document;
    let Some(version) = version else {
        return Ok(Built {
            model: WriteModel::replace_one(filter, &*raw),
            effect: Effect::Matches,
            requirement: None,
        });
    };
    Ok(Built {
        model: WriteModel::replace_one(version.of(filter.clone()), &*raw),
        effect: Effect::Replaces(Box::new(Replaced {
            filter: filter.to_document(),
            is_by_id,
            must_exist,
            kept: None,
            sent: raw.into_raw(),
        })),
        requirement: None,
    })
}

fn by_id<D: Model>(collection: &Collection<D>, id: impl IntoValue<D::Id>) -> Result<Node> {
    collection.id_filter(id.into_value(), NULL_ARGUMENT)
}

fn by_id_of<D: Model>(collection: &Collection<D>, document: &D) -> Result<Node> {
    collection.id_filter(id_value(document), NULL_IN_REPLACEMENT)
}

fn delete<D: Model>(
    collection: &Collection<D>,
    filter: Result<Node>,
    many: bool,
) -> Result<Built<WriteModel>> {
    let gate = collection.gate()?;
    let targets = if many {
        Targets::Many("delete_many")
    } else {
        Targets::One
    };
    if let Some(change) = deletion::<D>() {
        let how = How {
            targets,
            upsert: false,
            scope: collection.scope,
        };
        let prepared = gate.update(filter, change, how)?;
        let mut built = of_prepared(prepared, [many, false]);
        built.requirement = kind::of_soft_delete::<D>();
        return Ok(built);
    }
    let filter = gate.write(filter, targets)?;
    Ok(Built {
        model: if many {
            WriteModel::delete_many(filter)
        } else {
            WriteModel::delete_one(filter)
        },
        effect: Effect::Deletes,
        requirement: kind::of_delete::<D>(many),
    })
}

/// A write of the driver, which is not checked.
fn raw<D: Model>(collection: &Collection<D>, model: WriteModel) -> Result<Built<WriteModel>> {
    collection.gate()?.check_raw_write()?;
    Ok(Built {
        model,
        effect: Effect::Matches,
        requirement: None,
    })
}

impl<'a, D: Model, At> Bulk<'a, D, At> {
    fn new(collection: &'a Collection<D>, writes: Writes<WriteModel>) -> Self {
        Bulk {
            collection,
            writes,
            options: BulkWriteOptions::default(),
            session: None,
            at: PhantomData,
        }
    }

    fn push(mut self, operation: &'static str, built: Result<Built<WriteModel>>) -> Self {
        self.writes.push::<D>(operation, built);
        self
    }

    /// Inserts a document, as [`Collection::insert_one`] does. It is encoded when it is added.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.bulk().insert(&order(4)).await?.inserted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn insert(self, document: &D) -> Self {
        let model = insert(self.collection, document);
        self.push("insert", model)
    }

    /// Updates one document that matches, as [`Collection::update_one`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(
    ///     orders.bulk().update_one(|o| o.id().eq(1), |o| o.total().inc(1)).await?.modified_count,
    ///     1
    /// );
    /// # Ok(()) });
    /// ```
    pub fn update_one<U: IntoUpdate<D>>(
        self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        const { kind::changes_one::<D>() };
        let change = change(D::fields()).into_update();
        let model = update(self.collection, filter_of(filter), change, [false, false]);
        self.push("update_one", model)
    }

    /// Updates the document with this id, as [`Collection::update_by_id`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.bulk().update_by_id(1, |o| o.total().inc(1)).await?.modified_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn update_by_id<U: IntoUpdate<D>>(
        self,
        id: impl IntoValue<D::Id>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        const { kind::changes_one::<D>() };
        let change = change(D::fields()).into_update();
        let model = update(
            self.collection,
            by_id(self.collection, id),
            change,
            [false, false],
        );
        self.push("update_by_id", model)
    }

    /// Updates all documents that match, as [`Collection::update_many`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(
    ///     orders.bulk().update_many(|o| o.id().eq(1), |o| o.total().inc(1)).await?.modified_count,
    ///     1
    /// );
    /// # Ok(()) });
    /// ```
    pub fn update_many<U: IntoUpdate<D>>(
        self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        let change = change(D::fields()).into_update();
        let model = update(self.collection, filter_of(filter), change, [true, false]);
        self.push("update_many", model)
    }

    /// Updates one document that matches, or inserts one, as [`Collection::update_one`] does with
    /// [`upsert`](crate::collection::UpdateOne::upsert).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(
    ///     orders.bulk().upsert_one(|o| o.id().eq(9), |o| o.total().set(1)).await?.upserted_ids.len(),
    ///     1
    /// );
    /// # Ok(()) });
    /// ```
    pub fn upsert_one<U: IntoUpdate<D>>(
        self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        change: impl FnOnce(Fields<D>) -> U,
    ) -> Self {
        const { kind::changes_one::<D>() };
        let change = change(D::fields()).into_update();
        let model = update(self.collection, filter_of(filter), change, [false, true]);
        self.push("upsert_one", model)
    }

    /// Replaces one document that matches, as [`Collection::replace_one`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(
    ///     orders.bulk().replace_one(|o| o.customer().eq(1), &order(1)).await?.matched_count,
    ///     1
    /// );
    /// # Ok(()) });
    /// ```
    pub fn replace_one(self, filter: impl FnOnce(Fields<D>) -> Filter<D>, document: &D) -> Self {
        const { kind::changes_one::<D>() };
        let model = replace(self.collection, filter_of(filter), document, false);
        self.push("replace_one", model)
    }

    /// Replaces the stored document with the same id, as [`Collection::replace`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.bulk().replace(&order(1)).await?.matched_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn replace(self, document: &D) -> Self {
        const { kind::changes_one::<D>() };
        let filter = by_id_of(self.collection, document);
        let model = replace(self.collection, filter, document, true);
        self.push("replace", model)
    }

    /// Replaces the stored document with the same id, or inserts the document, as
    /// [`Collection::save`] does. The struct is not changed.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.bulk().save(&order(9)).await?.upserted_ids.len(), 1);
    /// # Ok(()) });
    /// ```
    pub fn save(self, document: &D) -> Self {
        const { kind::changes_one::<D>() };
        let model = saved(self.collection, document);
        self.push("save", model)
    }

    /// Deletes one document that matches, as [`Collection::delete_one`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.bulk().delete_one(|o| o.id().eq(1)).await?.deleted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_one(self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Self {
        let model = delete(self.collection, filter_of(filter), false);
        self.push("delete_one", model)
    }

    /// Deletes the document with this id, as [`Collection::delete_by_id`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.bulk().delete_by_id(1).await?.deleted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_by_id(self, id: impl IntoValue<D::Id>) -> Self {
        let model = delete(self.collection, by_id(self.collection, id), false);
        self.push("delete_by_id", model)
    }

    /// Deletes all documents that match, as [`Collection::delete_many`] does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.bulk().delete_many(|o| o.id().eq(1)).await?.deleted_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_many(self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Self {
        let model = delete(self.collection, filter_of(filter), true);
        self.push("delete_many", model)
    }

    /// Adds a write of the driver, for options without a typed method, such as `hint`. It is sent
    /// unchecked, so that it is an error on a [scoped](Collection::scoped) handle, and for a model with
    /// [encrypted fields](crate::encryption) if the client does not encrypt.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::driver::WriteModel;
    /// let raw = WriteModel::update_one(doc! { "_id": 1 }, doc! { "$inc": { "total": 1 } });
    /// assert_eq!(orders.bulk().raw(raw).await?.modified_count, 1);
    /// # Ok(()) });
    /// ```
    pub fn raw(self, model: WriteModel) -> Self {
        let built = raw(self.collection, model);
        self.push("raw", built)
    }
}

impl<'a, D: Model> Bulk<'a, D> {
    driver::__bulk_write_options! { forward_options { options: BulkWriteOptions } }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "bulk").writes(self.writes.operations(), false)
    }

    async fn run(mut self) -> Result<BulkWriteResult> {
        let (operations, mut built) = self.writes.into_parts()?;
        if built.is_empty() {
            return Ok(BulkWriteResult::default());
        }
        for built in &built {
            self.options = requiring!(self.options, built.requirement.clone());
        }
        let upgrades = take_upgrades(&mut built);
        let limit = TimeLimit::begin(self.options.__timeout());
        if !upgrades.is_empty() {
            let preceding = self.options.__preceding();
            Box::pin(perform(upgrades, preceding, &limit, self.session.as_deref_mut())).await?;
        }
        let mut runs = Runs::new(self.collection, operations);
        let is_encrypted = self.collection.gate()?.is_encrypted();
        for run in runs_of(built, is_encrypted) {
            self.options = limit.of(self.options, BulkWriteOptions::timeout);
            let is_last = runs.send(run, &self.options, self.session.as_deref_mut()).await;
            if is_last {
                break;
            }
        }
        explained_in_bulk(&self.collection.inner, runs.finish()).await
    }
}

awaitable!(['a, D: Model] Bulk<'a, D> => BulkWriteResult);
