//! `find_one_and_update`, `find_one_and_replace` and `find_one_and_delete`.

use std::pin::Pin;
use std::time::Duration;

use crate::{
    ast::filter::Node,
    base::{bson::RawDocumentBuf, error::Result, stage_versions::requiring, time_limit::TimeLimit},
    document::{decode::ReadAs, kind},
    driver::{
        self, action,
        options::{
            FindOneAndDeleteOptions, FindOneAndReplaceOptions, FindOneAndUpdateOptions, ReturnDocument,
        },
    },
    models::{
        model::{Fields, Model},
        projection::{self, Output, Projection},
    },
    query::{
        handle::{
            Collection,
            action::{Kept, Session, awaitable, forward_options, in_session, with_kept},
            filter_of,
            gate::{How, Sendable, Targets},
            rules::{check_upsert_filter, check_upsert_without_id},
            sharded::explained,
            soft_delete::deletion,
        },
        observe::Call,
        write::{
            encoded::{Encoded, for_replacement},
            outdated::{Sent, Upgrading, after_upgrade, is_upgraded},
            update::ReadyUpdate,
        },
    },
    term::{
        filter::Filter,
        sort::IntoSort,
        update::{DocumentItem, IntoUpdate, Update},
    },
};

/// The driver's future.
type Sending<'a> = Pin<Box<dyn Future<Output = driver::Result<Option<RawDocumentBuf>>> + Send + 'a>>;
/// The future of a replacement, which can be followed by a check of the version.
type Replacing<'a> = Pin<Box<dyn Future<Output = Result<Option<RawDocumentBuf>>> + Send + 'a>>;

impl<D: Model> Collection<D> {
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

    /// Deletes one document and returns it. The output of the action is `None` if no document
    /// matches; see [`required`](FindOneAndDelete::required).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let deleted = orders.find_one_and_delete(|o| o.total().lt(150)).required().await?;
    /// assert_eq!(deleted.id, 1);
    /// # Ok(()) });
    /// ```
    pub fn find_one_and_delete(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> FindOneAndDelete<'_, D> {
        FindOneAndDelete::new(self, filter_of(filter))
    }

    /// Replaces one document and returns it, as it was before the replacement unless
    /// [`returning_new`](FindOneAndReplace::returning_new) is called. The output of the action is
    /// `None` if no document matches; see [`required`](FindOneAndReplace::required). For the id of
    /// `document` see [`replace_one`](Collection::replace_one).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let cheaper = Order { total: 50, ..order(1) };
    /// let before = orders.find_one_and_replace(|o| o.id().eq(1), &cheaper).required().await?;
    /// assert_eq!(before.total, 100);
    /// # Ok(()) });
    /// ```
    pub fn find_one_and_replace(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        document: &D,
    ) -> FindOneAndReplace<'_, D> {
        FindOneAndReplace::new(self, filter_of(filter), Replacement::of(self, document))
    }
}

/// An action that returns one document.
macro_rules! find_and_modify {
    (
        $(#[$doc:meta])*
        $name:ident, $operation:ident, $Options:ident, $list:ident, $check:ident $(, $change:ident: $Change:ty)?
            $(, upgrading $model:ident)?;
        $(#[$required:meta])*
        required
    ) => {
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        pub struct $name<'a, D, T = D> {
            collection: &'a Collection<D>,
            filter: Result<Node>,
            $($change: $Change,)?
            options: $Options,
            kept: Kept,
            read_as: ReadAs<T>,
            session: Session<'a>,
        }

        impl<'a, D: Model> $name<'a, D> {
            pub(in crate::query) fn new(
                collection: &'a Collection<D>,
                filter: Result<Node>,
                $($change: $Change)?
            ) -> Self {
                const { kind::$check::<D>() };
                $name {
                    collection,
                    filter,
                    $($change,)?
                    options: $Options::default(),
                    kept: Kept::default(),
                    read_as: ReadAs::model(),
                    session: None,
                }
            }
        }

        impl<'a, D: Model, T: Output> $name<'a, D, T> {
            /// Returns only the fields of a [`Projection`](derive@crate::Projection).
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// #[derive(Deserialize, Projection)]
            /// #[document(of = Order)]
            /// struct Total {
            ///     total: i64,
            /// }
            /// let before = orders
            ///     .find_one_and_update(|o| o.id().eq(1), |o| o.total().inc(1))
            ///     .select::<Total>();
            /// assert_eq!(before.required().await?.total, 100);
            /// # Ok(()) });
            /// ```
            pub fn select<P: Projection<D> + Output>(self) -> $name<'a, D, P> {
                let (filter, projection) = match projection::document::<P, D>() {
                    Ok(projection) => (self.filter, Some(Box::new(projection))),
                    Err(e) => (self.filter.and(Err(e)), None),
                };
                $name {
                    collection: self.collection,
                    filter,
                    $($change: self.$change,)?
                    options: self.options,
                    kept: Kept {
                        projection,
                        ..self.kept
                    },
                    read_as: ReadAs::value(),
                    session: self.session,
                }
            }

            crate::driver::$list! { forward_options { options: $Options } }

            /// The order of the matching documents, the first of which is changed. It replaces that
            /// of [`with_options`](Self::with_options). Default: no particular order.
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let oldest = orders.find_one_and_delete(|o| o.status().eq(Status::Open))
            ///     .sort(|o| o.created_at().asc());
            /// assert_eq!(oldest.required().await?.id, 1);
            /// # Ok(()) });
            /// ```
            pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
                self.kept.sort = Some(Box::new(keys(D::fields()).into_sort()));
                self
            }

            /// Runs the action, which must return a document.
            ///
            $(#[$required])*
            /// Requires an acknowledged write concern. With `w: 0` the server returns no document,
            /// and the call always fails with [`Error::NotFound`](crate::Error::NotFound), even if
            /// a document was changed.
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let missing = orders.find_one_and_delete(|o| o.id().eq(99)).required().await;
            /// assert!(matches!(missing, Err(Error::NotFound { .. })));
            /// # Ok(()) });
            /// ```
            ///
            /// # Errors
            /// [`Error::NotFound`](crate::Error::NotFound) if no document is returned; otherwise
            /// the [errors of the action](Collection#errors).
            pub fn required(self) -> impl Future<Output = Result<T>> + Send + use<'a, D, T> {
                let collection = self.collection;
                let found = self.into_future();
                async move { found.await?.ok_or_else(|| collection.not_found()) }
            }

            /// How the server would run the call, instead of running it: awaiting the returned action
            /// returns the reply to `explain`. Nothing is written. For its options see
            /// [`Explain`](crate::driver::action::Explain).
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let call = orders.find_one_and_update(|o| o.id().eq(1), |o| o.total().inc(1));
            /// println!("{}", call.explain()?.await?);
            /// # Ok(()) });
            /// ```
            ///
            /// # Errors
            /// [`Error::InvalidFilter`](crate::Error::InvalidFilter),
            /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) and
            /// [`Error::Encode`](crate::Error::Encode) for invalid arguments, and
            /// [`Error::MissingId`](crate::Error::MissingId) for an upsert without an id.
            pub fn explain(self) -> Result<action::Explain<'a>> {
                self.explained()
            }

            fn call(&self) -> Call {
                let call = Call::new::<D>(self.collection.namespace(), stringify!($operation)).query(self.filter.as_ref().ok());
                $(let call = self.$change.described(call);)?
                call
            }

            fn run(self) -> impl Future<Output = Result<Option<T>>> + Send + use<'a, D, T> {
                let collection = self.collection;
                let read_as = self.read_as;
                let is_upsert = self.is_upsert();
                let sending = self.sending();
                async move {
                    let found = explained(&collection.inner, stringify!($operation), is_upsert, sending?.await.map_err(crate::Error::from)).await?;
                    found.map(|raw| read_as.decode(collection.namespace(), &raw)).transpose()
                }
            }
        }

        awaitable!(['a, D: Model, T: Output] $name<'a, D, T> => Option<T> $(, upgrading $model)?);
    };
}

find_and_modify! {
    /// Updates one document. Output: the document, if one matches. See
    /// [`Collection::find_one_and_update`].
    FindOneAndUpdate, find_one_and_update, FindOneAndUpdateOptions, __find_one_and_update_options, changes_one,
    update: Update<D>, upgrading D;
    /// An upsert that inserts has no document from before the change: it fails with
    /// [`Error::NotFound`](crate::Error::NotFound) although it inserted a document. Request the
    /// document after the change with [`returning_new`](Self::returning_new).
    ///
    required
}

find_and_modify! {
    /// Replaces one document. Output: the document, if one matches. See
    /// [`Collection::find_one_and_replace`].
    FindOneAndReplace, find_one_and_replace, FindOneAndReplaceOptions, __find_one_and_replace_options,
    changes_one, replacement: Replacement;
    /// An upsert that inserts has no document from before the change: it fails with
    /// [`Error::NotFound`](crate::Error::NotFound) although it inserted a document. Request the
    /// document after the change with [`returning_new`](Self::returning_new).
    ///
    required
}

find_and_modify! {
    /// Deletes one document. Output: the document, if one matches. See
    /// [`Collection::find_one_and_delete`].
    FindOneAndDelete, find_one_and_delete, FindOneAndDeleteOptions, __find_one_and_delete_options,
    changes_many;
    required
}

/// A change of a document, as part of a call that is observed.
trait Described {
    fn described(&self, call: Call) -> Call;
}

impl<D> Described for Update<D> {
    fn described(&self, call: Call) -> Call {
        call.update(self)
    }
}

impl Described for Replacement {
    fn described(&self, call: Call) -> Call {
        call
    }
}

pub(in crate::query) struct Replacement {
    document: Result<Encoded>,
    lacks_id: bool,
}

impl Replacement {
    pub(in crate::query) fn of<D: Model>(collection: &Collection<D>, document: &D) -> Self {
        let gate = collection.gate();
        Replacement {
            document: gate.and_then(|gate| for_replacement(&gate, document)),
            lacks_id: document.lacks_id(),
        }
    }
}

impl<'a, D: Model, T: Output> FindOneAndUpdate<'a, D, T> {
    /// Returns the document as it is after the change. Default: as it was before.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "counters")]
    /// # struct Counter { _id: String, next: i64 }
    /// # async fn run(counters: marula::Collection<Counter>) -> marula::Result<()> {
    /// let counter = counters
    ///     .find_one_and_update(|c| c._id().eq("invoice"), |c| c.next().inc(1))
    ///     .upsert(true)
    ///     .returning_new()
    ///     .required()
    ///     .await?;
    /// println!("invoice {}", counter.next);
    /// # Ok(()) }
    /// ```
    pub fn returning_new(self) -> Self {
        self.return_document(ReturnDocument::After)
    }

    /// Inserts a document if no document matches. The equality conditions of the filter become its
    /// fields. Default: false.
    ///
    /// Its id is that of the filter or of the update, otherwise a new one from the model's id
    /// source. The call fails with [`Error::MissingId`](crate::Error::MissingId) if there is none
    /// of these, and with [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) if it changes a
    /// field of an enum variant: a document with another variant does not match, and the upsert
    /// would insert a second document.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let update = Update::raw(doc! { "$setOnInsert": { "total": 1 } });
    /// let change = orders.find_one_and_update(|o| o.id().eq(9), |_| update);
    /// assert!(change.upsert(true).await?.is_none()); // the document before the change
    /// assert_eq!(orders.estimated_count().await?, 4);
    /// # Ok(()) });
    /// ```
    pub fn upsert(mut self, value: bool) -> Self {
        self.options = self.options.upsert(value);
        self
    }

    /// Adds filters for the `$[identifier]` segments of a raw update:
    /// `[doc! { "line.sku": "tea" }]` for `lines.$[line].qty`. The identifiers `f0`, `f1` … are
    /// those of [`filtered_positional`](crate::ArrayUpdateOps::filtered_positional). Default: none.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let update = Update::raw(doc! { "$inc": { "lines.$[line].qty": 1 } });
    /// let change = orders.find_one_and_update(|o| o.id().eq(1), |_| update);
    /// let after = change.raw_array_filters([doc! { "line.sku": "tea" }]).returning_new();
    /// assert_eq!(after.required().await?.lines[0].qty, 3);
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
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let total = None::<i64>;
    /// let patch = |o: Fields<Order>| (total.map(|total| o.total().set(total)),);
    /// let order = orders.find_one_and_update(|o| o.id().eq(1), patch).allow_empty().required().await?;
    /// assert_eq!(order.id, 1);
    /// # Ok(()) });
    /// ```
    pub fn allow_empty(mut self) -> Self {
        self.update.allow_empty();
        self
    }

    fn is_upsert(&self) -> bool {
        self.options.is_upsert()
    }

    fn sending(self) -> Result<Sending<'a>> {
        Ok(self.action()?.into_future())
    }

    fn explained(self) -> Result<action::Explain<'a>> {
        Ok(self.action()?.explain())
    }

    /// The filter and the update, with all options.
    fn ready(self) -> Result<ReadyUpdate<'a, FindOneAndUpdateOptions>> {
        let mut options = with_kept!(self.options, self.kept);
        let gate = self.collection.gate()?;
        gate.check_returned(options.returns_original())?;
        let how = How {
            targets: Targets::One,
            upsert: options.is_upsert(),
            scope: self.collection.scope,
        };
        let prepared = gate.update(self.filter, self.update, how)?;
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
        if const { !is_upgraded::<D>() } {
            return Ok(ready);
        }
        let (preceding, is_upsert) = (ready.options.__preceding(), ready.options.is_upsert());
        Ok(ready.upgrading(self.collection, false, preceding, is_upsert))
    }

    fn action(self) -> Result<action::FindOneAndUpdate<'a, RawDocumentBuf>> {
        let ready = self.ready()?;
        let updating = ready.collection.find_one_and_update(ready.filter, ready.update);
        Ok(in_session!(ready.session, updating.with_options(ready.options)))
    }

    /// Like `run`, after the upgrade of the document that matches.
    async fn run_upgrading(self) -> Result<Option<T>> {
        let (collection, read_as) = (self.collection, self.read_as);
        let found = after_upgrade(self.ready()?).await?;
        found
            .map(|raw| read_as.decode(collection.namespace(), &raw))
            .transpose()
    }
}

impl Upgrading for ReadyUpdate<'_, FindOneAndUpdateOptions> {
    type Output = Option<RawDocumentBuf>;

    fn timeout(&self) -> Option<Duration> {
        self.options.__timeout()
    }

    fn send<'s>(&'s self, limit: &TimeLimit, session: Session<'s>) -> Sent<'s, Option<RawDocumentBuf>> {
        let options = limit.of(self.options.clone(), FindOneAndUpdateOptions::timeout);
        let updating = self
            .collection
            .find_one_and_update(self.filter.clone(), self.update.clone());
        let sending = in_session!(session, updating.with_options(options)).into_future();
        Box::pin(async move {
            let result = sending.await.map_err(Into::into);
            let is_upsert = self.options.is_upsert();
            explained(self.collection, "find_one_and_update", is_upsert, result).await
        })
    }

    /// An upsert inserts a document if none matches.
    fn is_done(&self, found: &Option<RawDocumentBuf>) -> bool {
        found.is_some() || self.options.is_upsert()
    }
}

impl<'a, D: Model, T: Output> FindOneAndReplace<'a, D, T> {
    /// Returns the document as it is after the change. Default: as it was before.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let cheaper = Order { total: 50, ..order(1) };
    /// let after = orders.find_one_and_replace(|o| o.id().eq(1), &cheaper).returning_new();
    /// assert_eq!(after.required().await?.total, 50);
    /// # Ok(()) });
    /// ```
    pub fn returning_new(self) -> Self {
        self.return_document(ReturnDocument::After)
    }

    /// Inserts the replacement if no document matches. Default: false.
    ///
    /// A replacement whose [version](derive@crate::Document#maintained-fields) is not 0 was stored before and
    /// is not inserted: the call fails with [`Error::VersionConflict`](crate::Error::VersionConflict).
    ///
    /// Its id is that of the replacement or of the filter. The call fails with
    /// [`Error::MissingId`](crate::Error::MissingId) if neither has one.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let inserted = orders.find_one_and_replace(|o| o.id().eq(9), &order(9))
    ///     .upsert(true)
    ///     .returning_new();
    /// assert_eq!(inserted.required().await?.id, 9);
    /// # Ok(()) });
    /// ```
    pub fn upsert(mut self, value: bool) -> Self {
        self.options = self.options.upsert(value);
        self
    }

    /// The filter without the version, and the replacement.
    fn checked(
        collection: &Collection<D>,
        filter: Result<Node>,
        replacement: Replacement,
        options: &FindOneAndReplaceOptions,
    ) -> Result<(Sendable<Node>, Encoded)> {
        let gate = collection.gate()?;
        let filter = gate.write(filter, Targets::One)?;
        gate.check_documents()?;
        gate.check_returned(options.returns_original())?;
        if options.is_upsert() {
            check_upsert_filter(&filter)?;
        }
        if options.is_upsert() && replacement.lacks_id {
            check_upsert_without_id(collection, &filter)?;
        }
        Ok((filter, replacement.document?))
    }

    fn explained(self) -> Result<action::Explain<'a>> {
        let collection = self.collection;
        let options = with_kept!(self.options, self.kept);
        let (filter, document) = Self::checked(collection, self.filter, self.replacement, &options)?;
        let filter = match &document.version {
            Some(version) => version.of(filter),
            None => filter,
        };
        let replacing = collection
            .inner
            .find_one_and_replace(filter, &*document.raw)
            .with_options(options);
        Ok(in_session!(self.session, replacing).explain())
    }

    fn is_upsert(&self) -> bool {
        self.options.is_upsert()
    }

    /// The driver's future, and what follows it.
    fn sending(self) -> Result<Replacing<'a>> {
        let is_upsert = self.options.is_upsert();
        let options = with_kept!(self.options, self.kept);
        let (collection, mut session) = (self.collection, self.session);
        let (filter, document) = Self::checked(collection, self.filter, self.replacement, &options)?;
        let Some(version) = &document.version else {
            let replacing = collection
                .inner
                .find_one_and_replace(filter, &*document.raw)
                .with_options(options);
            let sending = in_session!(session, replacing).into_future();
            return Ok(Box::pin(async move { Ok(sending.await?) }));
        };
        let versioned = version.of(filter.clone());
        let must_exist = is_upsert && document.was_stored();
        let options = options.upsert(is_upsert && !must_exist);
        Ok(Box::pin(async move {
            let replacing = collection
                .inner
                .find_one_and_replace(versioned, &*document.raw)
                .with_options(options);
            let found = in_session!(session.as_deref_mut(), replacing)
                .await
                .map_err(|e| collection.conflict_of_upsert(e.into(), &document))?;
            match found {
                None if must_exist => return Err(collection.conflict_with(&document)),
                None if !is_upsert => collection.check_conflict(filter, session).await?,
                _ => {}
            }
            Ok(found)
        }))
    }
}

impl<'a, D: Model, T: Output> FindOneAndDelete<'a, D, T> {
    #[expect(
        clippy::unused_self,
        reason = "the same signature as that of the other actions"
    )]
    const fn is_upsert(&self) -> bool {
        false
    }

    fn sending(self) -> Result<Sending<'a>> {
        Ok(match self.action()? {
            Deleting::Delete(deleting) => deleting.into_future(),
            Deleting::Update(updating) => updating.into_future(),
        })
    }

    fn explained(self) -> Result<action::Explain<'a>> {
        Ok(match self.action()? {
            Deleting::Delete(deleting) => deleting.explain(),
            Deleting::Update(updating) => updating.explain(),
        })
    }

    fn action(self) -> Result<Deleting<'a>> {
        let inner = &self.collection.inner;
        let options = with_kept!(self.options, self.kept);
        let gate = self.collection.gate()?;
        gate.check_returned(options.returns_original())?;
        if let Some(change) = deletion::<D>() {
            let how = How {
                targets: Targets::One,
                upsert: false,
                scope: self.collection.scope,
            };
            let prepared = gate.update(self.filter, change, how)?;
            let deleting = inner
                .find_one_and_update(prepared.filter, prepared.update)
                .with_options(requiring!(options, kind::of_soft_delete::<D>()).into());
            return Ok(Deleting::Update(in_session!(self.session, deleting)));
        }
        let filter = gate.write(self.filter, Targets::One)?;
        let options = requiring!(options, kind::of_delete::<D>(false));
        let deleting = inner.find_one_and_delete(filter).with_options(options);
        Ok(Deleting::Delete(in_session!(self.session, deleting)))
    }
}

/// A soft deletion is an update.
enum Deleting<'a> {
    Delete(action::FindOneAndDelete<'a, RawDocumentBuf>),
    Update(action::FindOneAndUpdate<'a, RawDocumentBuf>),
}
