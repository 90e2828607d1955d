//! `replace_one` and `replace`.

use crate::{
    ast::filter::Node,
    base::{
        bson::{Document, RawDocumentBuf},
        error::Result,
    },
    document::kind,
    driver::{UpdateResult, action, options::ReplaceOneOptions},
    models::model::{DriverCollection, Fields, Model, id_value},
    query::{
        handle::{
            Collection, NULL_IN_REPLACEMENT,
            action::{Session, awaitable, forward_options, in_session, with_sort},
            filter_of,
            gate::{Sendable, Targets},
            rules::{check_upsert_filter, check_upsert_without_id},
            sharded::explained,
        },
        observe::Call,
        write::{
            encoded::{Encoded, for_replacement, validated},
            shard_key::{is_sharded, targeted_if},
            update::{matched, required},
        },
    },
    term::{filter::Filter, sort::IntoSort},
    values::codec,
};

impl<D: Model> Collection<D> {
    /// Replaces one document that matches: the first in the order of [`sort`](Replace::sort).
    ///
    /// If the id of `document` is `None`, the stored document keeps its id. Otherwise it must be
    /// the id of the stored document; a different one is an error of the server. It is not an error
    /// if no document matches; see [`required`](Replace::required). A filter that was combined from
    /// no conditions is rejected with [`Error::InvalidFilter`](crate::Error::InvalidFilter).
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

    /// Replaces the stored document with the same id. Fails with [`Error::MissingId`](crate::Error::MissingId) if the id is
    /// `None`.
    ///
    /// If it does not exist, nothing is written and `matched_count` is 0; with
    /// [`required`](Replace::required) this is an error. If the model has a
    /// [version](derive@crate::Document#maintained-fields) that is not that of the stored document,
    /// the call fails with [`Error::VersionConflict`](crate::Error::VersionConflict), also if the document does not exist and the version is
    /// not 0: it was deleted. If the model has a [shard key](crate::guide::schema#shard-keys), the filter contains it beside
    /// the id, and the call fails with [`Error::ShardKeyChanged`](crate::Error::ShardKeyChanged) if the stored document has another one.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut order = orders.find_by_id(1).required().await?;
    /// order.note = Some("ring twice".to_owned());
    /// orders.replace(&order).required().await?;
    /// # Ok(()) });
    /// ```
    pub fn replace<'a>(&'a self, document: &'a D) -> Replace<'a, D> {
        let filter = self.id_filter(id_value(document), NULL_IN_REPLACEMENT);
        Replace {
            is_of_document: true,
            ..Replace::new(self, filter, document)
        }
    }
}

/// Replaces a document. Output: the counts. See [`Collection::replace_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Replace<'a, D> {
    collection: &'a Collection<D>,
    filter: Result<Node>,
    document: &'a D,
    /// Whether the filter is that of the id of the document.
    is_of_document: bool,
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
            is_of_document: false,
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
        let filter = targeted_if::<D>(self.is_of_document, filter, &document.raw);
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
        if self.document.lacks_id()
            || gate.check_documents()?
            || const { D::BEHAVIOR.changes_documents() || is_sharded::<D>() }
        {
            // Boxed, so that the future of a replacement with an id is smaller.
            return Box::pin(async move {
                if self.options.is_upsert() && self.document.lacks_id() {
                    check_upsert_without_id(self.collection, &filter)?;
                }
                let document = for_replacement(&gate, self.document)?;
                let filter = targeted_if::<D>(self.is_of_document, filter, &document.raw);
                let replaced = Target { filter, is_by_id };
                if const { is_sharded::<D>() } && self.is_of_document {
                    return replace_sharded(self.collection, replaced, &document, self.options, self.session)
                        .await;
                }
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

/// Replaces a document of a sharded collection by its id and shard key: without an upsert first.
async fn replace_sharded<D: Model>(
    collection: &Collection<D>,
    target: Target,
    document: &Encoded,
    options: ReplaceOneOptions,
    mut session: Session<'_>,
) -> Result<UpdateResult> {
    let first = Target {
        filter: target.filter.clone(),
        is_by_id: target.is_by_id,
    };
    let only_replaced = options.clone().upsert(false);
    let result = replace(collection, first, document, only_replaced, session.as_deref_mut()).await;
    let result = collection
        .of_same_shard_key(&document.raw, result, session.as_deref_mut())
        .await?;
    if result.matched_count > 0 || !options.is_upsert() {
        return Ok(result);
    }
    replace(collection, target, document, options, session).await
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
