//! `update_one`, `update_many`, `replace_one` and `replace`.

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
        options::{PrecedingOptions, ReplaceOneOptions, UpdateManyOptions, UpdateOneOptions},
    },
    models::model::{DriverCollection, Fields, Model},
    query::{
        handle::{
            Collection, NULL_ARGUMENT, NULL_IN_REPLACEMENT,
            action::{Session, awaitable, forward_options, in_session, with_sort},
            filter_of,
            gate::{How, Sendable, Targets},
            rules::{check_upsert_filter, check_upsert_without_id},
            sharded::explained,
            soft_delete::Scope,
        },
        observe::Call,
        write::{
            encoded::{Encoded, for_replacement, validated},
            outdated::{Sent, Upgrade, Upgrading, after_upgrade, guarded, is_upgraded},
        },
    },
    term::{
        filter::Filter,
        sort::IntoSort,
        update::{DocumentItem, IntoUpdate, Update},
    },
    values::{codec, value::IntoValue},
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
            self.id_filter(crate::models::model::id_value(document), NULL_IN_REPLACEMENT),
            document,
        )
    }
}

/// The result of a write that must match or insert a document; otherwise
/// [`Error::NotFound`](crate::Error::NotFound).
fn matched<D: Model>(collection: &Collection<D>, result: UpdateResult) -> Result<UpdateResult> {
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

/// Replaces a document. Output: the counts. See [`Collection::replace_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Replace<'a, D> {
    collection: &'a Collection<D>,
    filter: Result<Node>,
    document: &'a D,
    options: ReplaceOneOptions,
    /// `with_options` does not replace it.
    sort: Option<Box<Document>>,
    session: Session<'a>,
}

impl<'a, D: Model> Replace<'a, D> {
    pub(in crate::query) fn new(
        collection: &'a Collection<D>,
        filter: Result<Node>,
        document: &'a D,
    ) -> Self {
        const { kind::changes_one::<D>() };
        Replace {
            collection,
            filter,
            document,
            options: ReplaceOneOptions::default(),
            sort: None,
            session: None,
        }
    }

    crate::driver::__replace_one_options! { forward_options { options: ReplaceOneOptions } }

    /// Inserts the document if no document matches. Default: false.
    ///
    /// A document whose [version](derive@crate::Document#maintained-fields) is not 0 was stored before and is
    /// not inserted: the call fails with [`Error::VersionConflict`](crate::Error::VersionConflict).
    ///
    /// Its id is that of the document or, if that is `None`, that of the filter. The call fails
    /// with [`Error::MissingId`](crate::Error::MissingId) if neither has one.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let result = orders.replace_one(|o| o.id().eq(9), &order(9)).upsert(true).await?;
    /// assert_eq!(result.upserted_id, Some(9_i64.into()));
    /// # Ok(()) });
    /// ```
    pub fn upsert(mut self, value: bool) -> Self {
        self.options = self.options.upsert(value);
        self
    }

    /// The order of the matching documents, the first of which is replaced (MongoDB 8.0+). Default:
    /// that of [`with_options`](Self::with_options), otherwise no particular order.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let next = order(1);
    /// let largest = orders.replace_one(|o| o.customer().eq(1), &next).sort(|o| o.total().desc());
    /// largest.required().await?;
    /// # Ok(()) });
    /// ```
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.sort = Some(Box::new(keys(D::fields()).into_sort()));
        self
    }

    required!();

    /// How the server would run the replacement, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let reply = orders.replace(&order(1)).explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid filter or document.
    /// [`Error::MissingId`](crate::Error::MissingId) for an upsert without an id, and the errors of hooks and
    /// of the validation.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        let gate = self.collection.gate()?;
        let filter = gate.write(self.filter, Targets::One)?;
        if self.options.is_upsert() {
            check_upsert_filter(&filter)?;
        }
        if self.options.is_upsert() && self.document.lacks_id() {
            check_upsert_without_id(self.collection, &filter)?;
        }
        let document = for_replacement(&gate, self.document)?;
        let filter = match &document.version {
            Some(version) => version.of(filter),
            None => filter,
        };
        let replacing = self.collection.inner.replace_one(filter, &*document.raw);
        let replacing = replacing.with_options(with_sort!(self.options, self.sort));
        Ok(in_session!(self.session, replacing).explain())
    }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "replace_one").query(self.filter.as_ref().ok())
    }

    async fn run(mut self) -> Result<UpdateResult> {
        self.options = with_sort!(self.options, self.sort.take());
        let gate = self.collection.gate()?;
        let is_by_id = self.filter.as_ref().is_ok_and(|filter| filter.is_only("_id"));
        let filter = gate.write(self.filter, Targets::One)?;
        if self.options.is_upsert() {
            check_upsert_filter(&filter)?;
        }
        if self.document.lacks_id() || gate.check_documents()? || D::BEHAVIOR.changes_documents() {
            // Boxed, so that the future of a replacement with an id is smaller.
            return Box::pin(async move {
                if self.options.is_upsert() && self.document.lacks_id() {
                    check_upsert_without_id(self.collection, &filter)?;
                }
                let document = for_replacement(&gate, self.document)?;
                let replaced = Target { filter, is_by_id };
                replace(self.collection, replaced, &document, self.options, self.session).await
            })
            .await;
        }
        validated(self.document)?;
        let document = gate.document(codec::to_raw(self.document)?)?;
        send_replacement(
            &self.collection.inner,
            filter,
            document,
            self.options,
            self.session,
        )
        .await
    }
}

/// The stored document that is replaced.
pub(in crate::query) struct Target {
    pub(in crate::query) filter: Sendable<Node>,
    /// Whether the filter has no condition but that on `_id`.
    pub(in crate::query) is_by_id: bool,
}

/// Replaces a document of the version that `document` requires. A document that was stored before is
/// not inserted.
pub(in crate::query) async fn replace<D: Model>(
    collection: &Collection<D>,
    target: Target,
    document: &Encoded,
    options: ReplaceOneOptions,
    mut session: Session<'_>,
) -> Result<UpdateResult> {
    let (inner, raw) = (&collection.inner, document.raw.clone());
    let Target { filter, is_by_id } = target;
    let Some(version) = &document.version else {
        return send_replacement(inner, filter, raw, options, session).await;
    };
    let must_exist = document.was_stored() && (is_by_id || options.is_upsert());
    let options = if must_exist {
        options.upsert(false)
    } else {
        options
    };
    let versioned = version.of(filter.clone());
    let result = send_replacement(inner, versioned, raw, options, session.as_deref_mut())
        .await
        .map_err(|e| collection.conflict_of_upsert(e, document))?;
    if result.matched_count == 0 && result.upserted_id.is_none() {
        if must_exist {
            return Err(collection.conflict_with(document));
        }
        collection.check_conflict(filter, session).await?;
    }
    Ok(result)
}

pub(in crate::query) fn send_replacement<'a>(
    collection: &'a DriverCollection,
    filter: Sendable<Node>,
    document: Sendable<RawDocumentBuf>,
    options: ReplaceOneOptions,
    session: Session<'a>,
) -> impl Future<Output = Result<UpdateResult>> + Send {
    let is_upsert = options.is_upsert();
    let replacing = collection
        .replace_one_encoded(filter, document.into_raw())
        .with_options(options);
    let sending = in_session!(session, replacing).into_future();
    async move {
        let result = sending.await.map_err(Into::into);
        explained(collection, "replace_one", is_upsert, result).await
    }
}

awaitable!(['a, D: Model] Replace<'a, D> => UpdateResult);
