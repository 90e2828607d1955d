//! `find_one`, `exists`, `count` and `estimated_count`.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::{
    ast::filter::Node,
    base::{
        bson::{RawDocumentBuf, doc},
        error::{Error, Result},
    },
    document::decode::{Found, ReadAs},
    driver::{
        action,
        options::{CountDocumentsOptions, EstimatedDocumentCountOptions, FindOptions},
    },
    models::{
        model::{Fields, Model},
        projection::{self, Output, Projection},
    },
    query::{
        handle::{
            Collection, NULL_ARGUMENT,
            action::{Kept, awaitable, forward_options, with_kept},
            filter_of,
        },
        observe::{Call, Running},
    },
    term::{filter::Filter, sort::IntoSort},
    values::value::IntoValue,
};

impl<D: Model> Collection<D> {
    /// Finds one document: the first in the order of [`sort`](FindOne::sort). The output of the
    /// action is `None` if no document matches; [`required`](FindOne::required) makes that an
    /// error. To read it with related documents, use [`find`](Collection::find), [`with`](crate::collection::Find::with) and
    /// [`first`](crate::relation::FindWith::first).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open = orders.find_one(|o| o.status().eq(Status::Open)).sort(|o| o.total().desc()).await?;
    /// assert_eq!(open.map(|o| o.id), Some(3));
    /// # Ok(()) });
    /// ```
    pub fn find_one(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> FindOne<'_, D> {
        FindOne::new(self, filter_of(filter))
    }

    /// Finds the document with this id. The output of the action is `None` if there is none;
    /// [`required`](FindOne::required) makes that an error. The call fails with
    /// [`Error::MissingId`] if the id is `None`.
    ///
    /// If the collection is sharded by another field than `_id`, MongoDB asks all shards for the document: a
    /// [`find_one`](Collection::find_one) with the id and the [shard key](crate::guide::schema#shard-keys) asks one.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let order = orders.find_by_id(1).required().await?;
    /// assert_eq!(order.total, 100);
    /// assert!(orders.find_by_id(99).await?.is_none());
    /// # Ok(()) });
    /// ```
    pub fn find_by_id(&self, id: impl IntoValue<D::Id>) -> FindOne<'_, D> {
        FindOne::new(self, self.id_filter(id.into_value(), NULL_ARGUMENT))
    }

    /// The exact number of documents that match. It runs an aggregation, which does not support
    /// [`near`](crate::FilterOps::near): use [`geo_within`](crate::FilterOps::geo_within).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.count(|o| o.total().gt(100)).await?, 2);
    /// # Ok(()) });
    /// ```
    #[doc(alias = "count_documents")]
    pub fn count(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Count<'_, D> {
        Count::new(self, filter_of(filter))
    }

    /// Counts all documents from the metadata of the collection, also soft-deleted ones. Fast; inexact
    /// after an unclean shutdown, and on a sharded cluster with orphaned documents.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.estimated_count().await?, 3);
    /// # Ok(()) });
    /// ```
    #[doc(alias = "estimated_document_count")]
    pub fn estimated_count(&self) -> EstimatedCount<'_> {
        EstimatedCount::new(self)
    }

    /// Whether a document matches. Reads at most one document, and of it only the `_id`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert!(orders.exists(|o| o.lines().sku().eq("tea")).await?);
    /// # Ok(()) });
    /// ```
    pub fn exists(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Exists<'_, D> {
        Exists::new(self, filter_of(filter))
    }
}

/// Finds one document. Output: the document, if one matches. See [`Collection::find_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct FindOne<'a, D, T = D> {
    collection: &'a Collection<D>,
    action: Result<action::FindOne<'a, RawDocumentBuf>>,
    kept: Kept,
    read_as: ReadAs<T>,
    call: Call,
}

impl<'a, D: Model> FindOne<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, filter: Result<Node>) -> Self {
        let filter = collection.readable(filter);
        FindOne {
            collection,
            call: Call::new::<D>(collection.namespace(), "find_one").query(filter.as_deref().ok()),
            action: filter.map(|filter| collection.inner.find_one(filter)),
            kept: Kept::default(),
            read_as: ReadAs::model(),
        }
    }
}

impl<'a, D: Model, T: Output> FindOne<'a, D, T> {
    /// Reads only the fields of a [`Projection`](derive@crate::Projection).
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, Projection, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// #[derive(Projection)]
    /// #[document(of = Person)]
    /// struct Name {
    ///     name: String,
    /// }
    /// # async fn run(people: Collection<Person>) -> marula::Result<()> {
    /// let name: Option<Name> = people.find_by_id(7).select::<Name>().await?;
    /// # drop(name); Ok(()) }
    /// ```
    pub fn select<P: Projection<D> + Output>(self) -> FindOne<'a, D, P> {
        let (action, projection) = match projection::document::<P, D>() {
            Ok(projection) => (self.action, Some(Box::new(projection))),
            Err(e) => (self.action.and(Err(e)), None),
        };
        FindOne {
            collection: self.collection,
            action,
            kept: Kept {
                projection,
                ..self.kept
            },
            read_as: ReadAs::value(),
            call: self.call,
        }
    }

    crate::driver::__find_options! { forward_options { action: FindOptions, without cursor } }

    /// The order of the matching documents, the first of which is returned. It replaces that of
    /// [`with_options`](Self::with_options). Default: no particular order.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let largest = orders.find_one(|o| o.total().gt(0)).sort(|o| o.total().desc()).await?;
    /// assert_eq!(largest.map(|o| o.total), Some(300));
    /// # Ok(()) });
    /// ```
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.kept.sort = Some(Box::new(keys(D::fields()).into_sort()));
        self
    }

    /// The driver's action with the projection and the sort.
    fn sent(
        action: Result<action::FindOne<'a, RawDocumentBuf>>,
        kept: Kept,
    ) -> Result<action::FindOne<'a, RawDocumentBuf>> {
        Ok(with_kept!(action?, kept))
    }

    /// How the server would run the query, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let reply = orders.find_one(|o| o.total().gt(100)).explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid filter.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        Ok(Self::sent(self.action, self.kept)?.explain())
    }

    /// Runs the action. Output: the document as stored, not decoded; `None` if no document matches.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let raw = orders.find_by_id(1).raw().await?.expect("a document");
    /// assert_eq!(raw.get_i64("total")?, 100);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](Collection#errors), except [`Error::Decode`].
    pub async fn raw(self) -> Result<Option<RawDocumentBuf>> {
        let finding = Self::sent(self.action, self.kept).map(IntoFuture::into_future);
        self.call.observe(async move { Ok(finding?.await?) }).await
    }

    /// Runs the action, which must find a document.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.find_by_id(1).required().await?.id, 1);
    /// assert!(matches!(orders.find_by_id(99).required().await, Err(Error::NotFound { .. })));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if no document matches; otherwise the
    /// [errors of the action](Collection#errors).
    pub async fn required(self) -> Result<T> {
        let collection = self.collection;
        self.await?.ok_or_else(|| collection.not_found())
    }
}

impl<'a, D: Model, T: Output> IntoFuture for FindOne<'a, D, T> {
    type Output = Result<Option<T>>;
    type IntoFuture = FindOneFuture<'a, D, T>;

    fn into_future(self) -> Self::IntoFuture {
        FindOneFuture {
            collection: self.collection,
            read_as: self.read_as,
            running: self.call.start(),
            call: self.call,
            finding: match Self::sent(self.action, self.kept) {
                Ok(action) => Ok(action.with_type().into_future()),
                Err(error) => Err(Some(error)),
            },
        }
    }
}

/// The future of a [`FindOne`]: the driver's future, which is already boxed, and the conversion of
/// its output.
#[must_use = "nothing is sent before the future is awaited"]
pub struct FindOneFuture<'a, D: Model, T: Output = D> {
    collection: &'a Collection<D>,
    read_as: ReadAs<T>,
    call: Call,
    running: Running,
    /// The driver's future, or the error of the filter until it is returned.
    finding: std::result::Result<<action::FindOne<'a, Found<T>> as IntoFuture>::IntoFuture, Option<Error>>,
}

impl<D: Model, T: Output> Future for FindOneFuture<'_, D, T> {
    type Output = Result<Option<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (collection, read_as) = (this.collection, this.read_as);
        let finding = &mut this.finding;
        let found = ready!(this.call.enter(|| {
            match finding {
                Ok(finding) => {
                    let found = ready!(finding.as_mut().poll(context))?;
                    let model = found.map(|found| found.into_result(collection.namespace(), read_as));
                    Poll::Ready(model.transpose())
                }
                Err(error) => error
                    .take()
                    .map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
            }
        }));
        this.call.end(&mut this.running, &found);
        Poll::Ready(found)
    }
}

/// Checks whether a document matches. Output: `true` if one does. See [`Collection::exists`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Exists<'a, D> {
    action: Result<action::FindOne<'a, RawDocumentBuf>>,
    call: Call,
    document: PhantomData<fn() -> D>,
}

impl<'a, D: Model> Exists<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, filter: Result<Node>) -> Self {
        let filter = collection.readable(filter);
        Exists {
            call: Call::new::<D>(collection.namespace(), "exists").query(filter.as_deref().ok()),
            action: filter.map(|filter| collection.inner.find_one(filter)),
            document: PhantomData,
        }
    }

    crate::driver::__find_options! { forward_options { action: FindOptions, without cursor } }

    fn call(&self) -> Call {
        self.call.clone()
    }

    /// How the server would run the query, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let reply = orders.exists(|o| o.total().gt(100)).explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid filter.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        Ok(self.action()?.explain())
    }

    /// The driver's action. Only the id, so that the document is not transferred.
    fn action(self) -> Result<action::FindOne<'a, RawDocumentBuf>> {
        Ok(self.action?.projection(doc! { "_id": 1 }))
    }

    fn run(self) -> impl Future<Output = Result<bool>> + Send + use<'a, D> {
        let sending = self.action().map(IntoFuture::into_future);
        async move { Ok(sending?.await?.is_some()) }
    }
}

/// Counts the documents that match. Output: their number. See [`Collection::count`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Count<'a, D> {
    action: Result<action::CountDocuments<'a>>,
    call: Call,
    document: PhantomData<fn() -> D>,
}

impl<'a, D: Model> Count<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, filter: Result<Node>) -> Self {
        let filter = collection.readable(filter);
        Count {
            call: Call::new::<D>(collection.namespace(), "count").query(filter.as_deref().ok()),
            action: filter.map(|filter| collection.inner.count_documents(filter)),
            document: PhantomData,
        }
    }

    crate::driver::__count_documents_options! { forward_options { action: CountDocumentsOptions } }

    /// How the server would run the count, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let reply = orders.count(|o| o.total().gt(100)).explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid filter.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        Ok(self.action?.explain())
    }

    fn call(&self) -> Call {
        self.call.clone()
    }

    fn run(self) -> impl Future<Output = Result<u64>> + Send + use<'a, D> {
        let sending = self.action.map(IntoFuture::into_future);
        async move { Ok(sending?.await?) }
    }
}

/// Counts all documents from the metadata of the collection. Output: their number. See
/// [`Collection::estimated_count`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct EstimatedCount<'a> {
    action: Result<action::EstimatedDocumentCount<'a>>,
    call: Call,
}

impl<'a> EstimatedCount<'a> {
    pub(in crate::query) fn new<D: Model>(collection: &'a Collection<D>) -> Self {
        EstimatedCount {
            call: Call::new::<D>(collection.namespace(), "estimated_count"),
            action: match &collection.rows {
                None => Ok(collection.inner.estimated_document_count()),
                Some(_) => Err(Error::argument(
                    "`estimated_count` counts all documents of the collection, and the handle has a scope: use `count`",
                )),
            },
        }
    }

    crate::driver::__estimated_document_count_options! {
        forward_options { action: EstimatedDocumentCountOptions }
    }

    /// How the server would run the count, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let reply = orders.estimated_count().explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// None: the call has no filter.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        Ok(self.action?.explain())
    }

    fn call(&self) -> Call {
        self.call.clone()
    }

    fn run(self) -> impl Future<Output = Result<u64>> + Send + use<'a> {
        let sending = self.action.map(IntoFuture::into_future);
        async move { Ok(sending?.await?) }
    }
}

awaitable!(['a, D: Model] Exists<'a, D> => bool);
awaitable!(['a, D: Model] Count<'a, D> => u64);
awaitable!(['a] EstimatedCount<'a> => u64);
