//! `update_one`, `update_by_id` and `update_many`.

use std::time::Duration;

use crate::{
    ast::filter::Node,
    base::{
        bson::{Document, RawDocumentBuf},
        error::{Error, Result},
        stage_versions::requiring,
        time_limit::TimeLimit,
    },
    document::kind,
    driver::{
        self, UpdateModification, UpdateResult, action,
        options::{PrecedingOptions, UpdateManyOptions, UpdateOneOptions},
    },
    models::model::{Fields, Model},
    query::{
        handle::{
            Collection, NULL_ARGUMENT,
            action::{Session, awaitable, forward_options, in_session, with_sort},
            filter_of,
            gate::{How, Sendable, Targets},
            sharded::explained,
            soft_delete::Scope,
        },
        observe::Call,
        write::outdated::{Sent, Upgrade, Upgrading, after_upgrade, guarded, is_upgraded},
    },
    term::{
        filter::Filter,
        sort::IntoSort,
        update::{DocumentItem, IntoUpdate, Update},
    },
    values::value::IntoValue,
};

impl<D: Model> Collection<D> {
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
    /// `None`. If the collection is sharded by another field than `_id`, MongoDB sends the update to all shards.
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
}

/// The result of a write that must match or insert a document; otherwise
/// [`Error::NotFound`](crate::Error::NotFound).
pub(super) fn matched<D: Model>(collection: &Collection<D>, result: UpdateResult) -> Result<UpdateResult> {
    if result.matched_count == 0 && result.upserted_id.is_none() {
        Err(collection.not_found())
    } else {
        Ok(result)
    }
}

macro_rules! required {
    ($(#[$not_found:meta])*) => {
        /// Runs the action, which must match a document, or insert one by an upsert.
        ///
        /// Requires an acknowledged write concern. With `w: 0` the server returns no counts, and
        /// the call always fails with [`Error::NotFound`](crate::Error::NotFound), even if a
        /// document was written.
        ///
        /// ```
        /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
        /// let missing = orders.update_by_id(99, |o| o.total().inc(1)).required().await;
        /// assert!(matches!(missing, Err(Error::NotFound { .. })));
        /// # Ok(()) });
        /// ```
        ///
        /// # Errors
        /// [`Error::NotFound`](crate::Error::NotFound) if no document matches and none is inserted;
        /// otherwise the [errors of the action](Collection#errors).
        $(#[$not_found])*
        pub fn required(self) -> impl Future<Output = Result<UpdateResult>> + Send + use<'a, D> {
            let collection = self.collection;
            let writing = self.into_future();
            async move { matched(collection, writing.await?) }
        }
    };
}
pub(super) use required;

/// The error of an upsert that restores: a document that it inserts was not deleted.
fn restored_by_upsert<D: Model>(collection: &Collection<D>, call: &str) -> Error {
    Error::argument(format!(
        "`{call}` on {} inserts no document: call it without `upsert`, and `required` if the document must have been deleted",
        collection.namespace()
    ))
}

/// An update that is ready to be sent.
pub(in crate::query) struct ReadyUpdate<'a, O> {
    pub(in crate::query) collection: &'a driver::Collection<RawDocumentBuf>,
    pub(in crate::query) filter: Sendable<Node>,
    pub(in crate::query) update: Sendable<UpdateModification>,
    pub(in crate::query) options: O,
    /// The upgrade of the documents that match.
    pub(in crate::query) upgrade: Option<Box<Upgrade>>,
    pub(in crate::query) session: Session<'a>,
}

impl<O> ReadyUpdate<'_, O> {
    /// With the upgrade of the documents that match. `preceding`: its options.
    pub(in crate::query) fn upgrading<D: Model>(
        mut self,
        collection: &Collection<D>,
        many: bool,
        preceding: PrecedingOptions,
        is_upsert: bool,
    ) -> Self {
        self.upgrade = Upgrade::before(collection, &self.filter, many || is_upsert, preceding);
        if !is_upsert {
            self.filter = guarded::<D>(self.filter);
        }
        self
    }
}

/// An update of many documents has no sort.
macro_rules! without_sort {
    ($options:expr, $sort:expr) => {{
        let _: Option<Box<Document>> = $sort;
        $options
    }};
}

macro_rules! updates {
    ($($(#[$doc:meta])* $name:ident, $Options:ident, $list:ident, $method:ident, $check:ident, $with_sort:ident;)*) => { $(
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        pub struct $name<'a, D> {
            collection: &'a Collection<D>,
            filter: Result<Node>,
            update: Update<D>,
            scope: Scope,
            /// The name of the call that restores deleted documents.
            restoration: Option<&'static str>,
            options: $Options,
            /// `with_options` does not replace it.
            sort: Option<Box<Document>>,
            session: Session<'a>,
        }

        impl<'a, D: Model> $name<'a, D> {
            pub(in crate::query) fn new(collection: &'a Collection<D>, filter: Result<Node>, update: Update<D>) -> Self {
                const { kind::$check::<D>() };
                $name {
                    collection,
                    filter,
                    update,
                    scope: collection.scope,
                    restoration: None,
                    options: $Options::default(),
                    sort: None,
                    session: None,
                }
            }

            crate::driver::$list! { forward_options { options: $Options } }

            /// Inserts a document if no document matches. The equality conditions of the filter
            /// become its fields. Default: false.
            ///
            /// Its id is that of the filter or of the update, otherwise a new one from the model's
            /// id source. The call fails with [`Error::MissingId`](crate::Error::MissingId) if
            /// there is none of these, and with
            /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) if it changes a field of an
            /// enum variant: a document with another variant does not match, and the upsert would
            /// insert a second document.
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let update = Update::raw(doc! { "$setOnInsert": { "total": 1 } });
            /// let result = orders.update_one(|o| o.id().eq(9), |_| update).upsert(true).await?;
            /// assert_eq!(result.upserted_id, Some(9_i64.into()));
            /// # Ok(()) });
            /// ```
            pub fn upsert(mut self, value: bool) -> Self {
                self.options = self.options.upsert(value);
                self
            }

            /// Adds filters for the `$[identifier]` segments of a raw update:
            /// `[doc! { "line.sku": "tea" }]` for `lines.$[line].qty`. The identifiers `f0`, `f1` …
            /// are those of [`filtered_positional`](crate::ArrayUpdateOps::filtered_positional).
            /// Default: none.
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let update = Update::raw(doc! { "$inc": { "lines.$[line].qty": 1 } });
            /// orders
            ///     .update_one(|o| o.id().eq(1), |_| update)
            ///     .raw_array_filters([doc! { "line.sku": "tea" }])
            ///     .required()
            ///     .await?;
            /// # Ok(()) });
            /// ```
            pub fn raw_array_filters(mut self, filters: impl IntoIterator<Item: DocumentItem>) -> Self {
                let filters = filters.into_iter().map(DocumentItem::into_document);
                self.options = self.options.add_array_filters(filters);
                self
            }

            /// Allows an empty update, such as one of `Option`s that are all `None`: the documents are found
            /// and not changed, also not their version and times. The action is still a write, which needs
            /// the privileges and the write concern of one. An upsert by an empty update fails with
            /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate), as all empty updates do by default.
            /// In a time series the call fails with
            /// [`Error::InvalidArgument`](crate::Error::InvalidArgument): MongoDB has no update
            /// there that changes nothing.
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let total = None::<i64>;
            /// let patch = |o: Fields<Order>| (total.map(|total| o.total().set(total)),);
            /// let result = orders.update_one(|o| o.id().eq(1), patch).allow_empty().required().await?;
            /// assert_eq!((result.matched_count, result.modified_count), (1, 0));
            /// # Ok(()) });
            /// ```
            pub fn allow_empty(mut self) -> Self {
                self.update.allow_empty();
                self
            }

            required! {
                /// An update of the fields of an enum variant does not match documents with another
                /// variant.
            }

            /// How the server would run the update, instead of running it: awaiting the returned action
            /// returns the reply to `explain`. Nothing is written. For its options see
            /// [`Explain`](crate::driver::action::Explain).
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let reply = orders.update_many(|o| o.id().gt(1), |o| o.total().inc(1)).explain()?.await?;
            /// println!("{reply}");
            /// # Ok(()) });
            /// ```
            ///
            /// # Errors
            /// [`Error::InvalidFilter`](crate::Error::InvalidFilter),
            /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) and
            /// [`Error::Encode`](crate::Error::Encode) for an invalid filter or update.
            pub fn explain(self) -> Result<action::Explain<'a>> {
                Ok(self.action()?.explain())
            }

            /// Restores deleted documents by the method `call`.
            pub(in crate::query) fn restoring(mut self, call: &'static str) -> Self {
                self.scope = Scope::Deleted;
                self.restoration = Some(call);
                self
            }

            /// The filter and the update, with all options. `None` of the upgrade: no document is upgraded.
            fn ready(self) -> Result<ReadyUpdate<'a, $Options>> {
                let mut options = $with_sort!(self.options, self.sort);
                if let (Some(call), true) = (self.restoration, options.is_upsert()) {
                    return Err(restored_by_upsert(self.collection, call));
                }
                let many = stringify!($method) == "update_many";
                let how = How {
                    targets: if many { Targets::Many("update_many") } else { Targets::One },
                    upsert: options.is_upsert(),
                    scope: self.scope,
                };
                if self.restoration.is_some() {
                    options = requiring!(options, kind::of_soft_delete::<D>());
                }
                let prepared = self.collection.gate()?.update(self.filter, self.update, how)?;
                if !prepared.array_filters.is_empty() {
                    options = options.add_array_filters(prepared.array_filters);
                }
                options = requiring!(options, prepared.requirement);
                let ready = ReadyUpdate {
                    collection: &self.collection.inner,
                    filter: prepared.filter,
                    update: prepared.update,
                    options,
                    upgrade: None,
                    session: self.session,
                };
                if const { !is_upgraded::<D>() } || self.restoration.is_some() {
                    return Ok(ready);
                }
                let (preceding, is_upsert) = (ready.options.__preceding(), ready.options.is_upsert());
                Ok(ready.upgrading(self.collection, many, preceding, is_upsert))
            }

            /// The driver's action with all options.
            fn action(self) -> Result<action::$name<'a>> {
                let ready = self.ready()?;
                let updating = ready.collection.$method(ready.filter, ready.update);
                Ok(in_session!(ready.session, updating.with_options(ready.options)))
            }

            fn call(&self) -> Call {
                Call::new::<D>(self.collection.namespace(), stringify!($method))
                    .query(self.filter.as_ref().ok())
                    .update(&self.update)
            }

            pub(super) fn run(self) -> impl Future<Output = Result<UpdateResult>> + Send + use<'a, D> {
                let collection = &self.collection.inner;
                let is_upsert = self.options.is_upsert();
                let sending = self.action().map(IntoFuture::into_future);
                async move {
                    let result = sending?.await.map_err(Into::into);
                    explained(collection, stringify!($method), is_upsert, result).await
                }
            }

            /// Like `run`, after the upgrade of the documents that match.
            pub(super) async fn run_upgrading(self) -> Result<UpdateResult> {
                after_upgrade(self.ready()?).await
            }
        }

        impl Upgrading for ReadyUpdate<'_, $Options> {
            type Output = UpdateResult;

            fn timeout(&self) -> Option<Duration> {
                self.options.__timeout()
            }

            fn send<'s>(&'s self, limit: &TimeLimit, session: Session<'s>) -> Sent<'s, UpdateResult> {
                let options = limit.of(self.options.clone(), $Options::timeout);
                let updating = self.collection.$method(self.filter.clone(), self.update.clone());
                let sending = in_session!(session, updating.with_options(options)).into_future();
                Box::pin(async move {
                    let result = sending.await.map_err(Into::into);
                    explained(self.collection, stringify!($method), self.options.is_upsert(), result).await
                })
            }

            fn is_done(&self, result: &UpdateResult) -> bool {
                result.matched_count > 0 || result.upserted_id.is_some()
            }
        }

        awaitable!(['a, D: Model] $name<'a, D> => UpdateResult, upgrading D);
    )* };
}

updates! {
    /// Updates a document. Output: the counts. See [`Collection::update_one`].
    UpdateOne, UpdateOneOptions, __update_one_options, update_one, changes_one, with_sort;
    /// Updates documents. Output: the counts. See [`Collection::update_many`].
    UpdateMany, UpdateManyOptions, __update_many_options, update_many, changes_many, without_sort;
}

impl<D: Model> UpdateOne<'_, D> {
    /// The order of the matching documents, the first of which is updated (MongoDB 8.0+). Default:
    /// that of [`with_options`](Self::with_options), otherwise no particular order.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let oldest = orders.update_one(|o| o.status().eq(Status::Open), |o| o.status().set(Status::Paid));
    /// oldest.sort(|o| o.created_at().asc()).required().await?;
    /// # Ok(()) });
    /// ```
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.sort = Some(Box::new(keys(D::fields()).into_sort()));
        self
    }
}
