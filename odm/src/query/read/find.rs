//! `find`: options, and the methods that run the query.

use std::pin::Pin;

use crate::{
    ast::filter::Node,
    base::{
        bson::{Bson, Document, RawDocumentBuf},
        error::{Error, Result},
        stage_versions::{self, requiring},
    },
    document::decode::ReadAs,
    driver::{
        action,
        options::{Collation, FindOptions},
    },
    models::{
        index::{IndexChoice, QueryOptions},
        model::{Fields, Model},
        projection::{self, Output, Projection},
    },
    query::{
        handle::{
            Collection,
            action::{Session, forward_options, in_session},
            filter_of,
            gate::Sendable,
        },
        observe::Call,
        read::{
            documents::Documents,
            keyset::{self, KeysetPage},
            page::{self, Page},
            token::Key,
            token_key::TokenKey,
        },
    },
    term::{
        filter::Filter,
        sort::{IntoKeyset, IntoSort},
    },
    values::codec,
};

impl<D: Model> Collection<D> {
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
}

fn collation_document(collation: &Collation) -> Result<Document> {
    match codec::serialized(collation).map_err(|e| Error::encode("collation", e))? {
        Bson::Document(collation) => Ok(collation),
        other => Err(Error::argument(format!(
            "the collation is not a document: {other}"
        ))),
    }
}

/// Boxes the future of a query, so that the futures of applications do not contain the cursor and
/// its batch.
fn boxed<'a, T>(
    query: impl Future<Output = Result<T>> + Send + 'a,
) -> Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>> {
    Box::pin(query)
}

/// A query. Awaited, it reads all documents, as [`all`](Find::all) does. See [`Collection::find`].
///
/// `T` is the type in which the documents are read: the model, or a projection of it, given by
/// [`select`](Find::select).
///
/// If the future of a method is dropped, the cursor on the server is closed in the background.
#[must_use = "nothing is sent before the query, or a method such as `first`, is awaited"]
pub struct Find<'a, D, T = D> {
    pub(in crate::query) collection: &'a Collection<D>,
    pub(in crate::query) filter: Result<Sendable<Node>>,
    pub(in crate::query) options: FindOptions,
    /// The fields to read. `None` for all.
    pub(in crate::query) projection: Option<Document>,
    /// The order of the documents.
    pub(in crate::query) sort: Option<Document>,
    pub(in crate::query) read_as: ReadAs<T>,
    pub(in crate::query) session: Session<'a>,
    /// The key of the tokens of pages.
    pub(in crate::query) token_key: Option<TokenKey>,
}

impl<'a, D: Model> Find<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, filter: Result<Node>) -> Self {
        Find {
            collection,
            filter: collection.readable(filter),
            options: FindOptions::default(),
            projection: None,
            sort: None,
            read_as: ReadAs::model(),
            session: None,
            token_key: None,
        }
    }
}

impl<D, T> Find<'_, D, T> {
    /// The same query, in an implicit session.
    pub(in crate::query) fn again(&self) -> Find<'_, D, T> {
        Find {
            collection: self.collection,
            filter: self.filter.clone(),
            options: self.options.clone(),
            projection: self.projection.clone(),
            sort: self.sort.clone(),
            read_as: self.read_as,
            session: None,
            token_key: self.token_key.clone(),
        }
    }
}

impl<'a, D: Model, T: Output> Find<'a, D, T> {
    /// Reads only the fields of a [`Projection`](derive@crate::Projection). The filter and the sort
    /// still use all fields.
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
    /// let names: Vec<Name> = people.find(|p| p.age().gte(18)).select::<Name>().await?;
    /// # drop(names); Ok(()) }
    /// ```
    pub fn select<P: Projection<D> + Output>(self) -> Find<'a, D, P> {
        let (filter, projection) = match projection::document::<P, D>() {
            Ok(projection) => (self.filter, Some(projection)),
            Err(e) => (self.filter.and(Err(e)), None),
        };
        Find {
            collection: self.collection,
            filter,
            options: self.options,
            projection,
            sort: self.sort,
            read_as: ReadAs::value(),
            session: self.session,
            token_key: self.token_key,
        }
    }

    crate::driver::__find_options! { forward_options { options: FindOptions } }

    /// Maximum number of documents to find; 0 for all documents. Default: 0.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.find_all().limit(2).await?.len(), 2);
    /// # Ok(()) });
    /// ```
    pub fn limit(mut self, limit: u32) -> Self {
        self.options = self.options.limit(i64::from(limit));
        self
    }

    /// Adds a filter, which the documents must also match.
    ///
    /// ```no_run
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let adults: Filter<Person> = Person::fields().age().gte(18);
    /// let first = people.find_all().filter(adults.clone()).limit(10).await?;
    /// # drop(first); Ok(()) }
    /// ```
    pub fn filter(mut self, filter: Filter<D>) -> Self {
        self.filter = self.filter.and_then(|all| {
            let filter = filter.into_node();
            self.collection.gate()?.narrowed(all, filter)
        });
        self
    }

    /// The order of the documents: a key, a tuple of keys, or a `Vec` of keys, which have the same
    /// type after [`.erased()`](crate::sort::SortKey::erased). It replaces that of
    /// [`with_options`](Self::with_options). Default: no particular order.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let sorted = orders.find_all().sort(|o| (o.status().asc(), o.total().desc())).await?;
    /// assert_eq!(sorted[0].total, 300);
    /// # Ok(()) });
    /// ```
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.sort = Some(keys(D::fields()).into_sort());
        self
    }

    /// The driver's action with the filter and the options, for options without a typed setter.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut cursor = orders.find(|o| o.total().gt(100)).into_driver()?.show_record_id(true).await?;
    /// assert!(cursor.advance().await?);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`] for an invalid filter; [`Error::Encode`] for a value of the filter
    /// that cannot be encoded as BSON.
    pub fn into_driver(self) -> Result<action::Find<'a, RawDocumentBuf>> {
        let projection = self.projection.as_ref();
        let sorted = match self.sort {
            Some(sort) => {
                let by_score = stage_versions::sorts_by_score(&sort)
                    && !projection.is_some_and(stage_versions::has_score);
                requiring!(self.options, by_score.then(stage_versions::of_sort_by_score)).sort(sort)
            }
            None => self.options,
        };
        let options = match self.projection {
            Some(projection) => {
                requiring!(sorted, stage_versions::of_projection(&projection)).projection(projection)
            }
            None => sorted,
        };
        let finding = self.collection.inner.find(self.filter?);
        Ok(in_session!(self.session, finding.with_options(options)))
    }

    /// How the server would run the query, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// use marula::driver::options::ExplainVerbosity;
    ///
    /// let query = people.find(|p| p.age().gte(18)).sort(|p| p.age().desc());
    /// let reply = query.explain()?.verbosity(ExplainVerbosity::ExecutionStats).await?;
    /// println!("{reply}");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid filter.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        Ok(self.into_driver()?.explain())
    }

    /// The declared indexes that serve the query, found without a server: the certain conditions of the
    /// filter and the sort are compared with [`Model::indexes`] and the index of `_id`. The filter
    /// contains the conditions of the handle: its [scope](Collection::scoped) and soft deletion. For other
    /// calls ask about a query with their filter.
    ///
    /// Conditions that an index does not select by, such as `exists`, `size`, `not` and expressions, count as
    /// none.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let query = orders.find(|o| o.customer().eq(1)).sort(|o| o.created_at().desc());
    /// let choice = query.declared_index()?;
    /// assert!(choice.uses_index("customer_1_created_at_-1"), "{choice}");
    /// assert_eq!(choice.prefix(), 2);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`] and [`Error::Encode`] for an invalid filter.
    pub fn declared_index(&self) -> Result<IndexChoice> {
        let filter = self.filter.as_ref().map_err(Clone::clone)?;
        let options = QueryOptions {
            sort: page::sort_of(self)?,
            collation: self.options.__collation().map(collation_document).transpose()?,
            hint: self.options.__hint().cloned(),
        };
        Ok(IndexChoice::of::<D>(filter, &options))
    }

    /// Sends the query and returns a stream of the documents, which requests further batches as it
    /// is read.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut all = orders.find_all().batch_size(2).stream().await?;
    /// while let Some(order) = all.try_next().await? {
    ///     println!("{}", order.id);
    /// }
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](Collection#errors), except [`Error::Decode`].
    pub fn stream(self) -> impl Future<Output = Result<Documents<T>>> + Send + use<'a, D, T> {
        let namespace = self.collection.namespace().clone();
        let read_as = self.read_as;
        let call = Call::new::<D>(self.collection.namespace(), "find").query(self.filter.as_deref().ok());
        // Not inside the future, which would then contain both the query and the driver's action.
        let finding = self.into_driver().map(IntoFuture::into_future);
        let documents = Documents::of(namespace, read_as, call.clone());
        call.observe(async move { Ok(documents(finding?.await?)) })
    }

    /// Reads all documents into memory. For results of unknown size use [`stream`](Find::stream) or
    /// a [`limit`](Find::limit).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.find(|o| o.total().gt(100)).all().await?.len(), 2);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](Collection#errors).
    pub async fn all(self) -> Result<Vec<T>> {
        boxed(async move { self.stream().await?.try_collect().await }).await
    }

    /// Reads the first document in the order of [`sort`](Find::sort). `None` if no document
    /// matches. Replaces a limit that was set.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let newest = orders.find_all().sort(|o| o.created_at().desc()).first().await?;
    /// assert_eq!(newest.map(|o| o.id), Some(3));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](Collection#errors).
    pub async fn first(self) -> Result<Option<T>> {
        boxed(async move { self.limit(1).stream().await?.try_next().await }).await
    }

    /// Reads the only document that matches. Replaces a limit that was set.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.find(|o| o.customer().eq(2)).one().await?.id, 2);
    /// let several = orders.find_all().one().await;
    /// assert!(matches!(several, Err(Error::MoreThanOne { .. })));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if no document matches, [`Error::MoreThanOne`] if more than one does;
    /// otherwise those of [`all`](Find::all).
    pub async fn one(self) -> Result<T> {
        let collection = self.collection;
        let reading = boxed(async move {
            let mut found = self.limit(2).stream().await?;
            let first = found.try_next().await?;
            Result::Ok((first, found.try_next().await?.is_some()))
        });
        match reading.await? {
            (None, _) => Err(collection.not_found()),
            (Some(first), false) => Ok(first),
            (Some(_), true) => Err(Error::MoreThanOne {
                collection: collection.namespace().to_string(),
            }),
        }
    }

    /// Reads a page by its number, from 0, and counts all matching documents: two commands.
    ///
    /// `_id` is added as the last key of the sort, so that the order of any two documents is defined and
    /// pages do not overlap, unless a declared unique index has only keys of the sort. An index that
    /// serves the sort has `_id` as its last key, too: `index(status, -created_at, id)`.
    ///
    /// The server reads and skips all earlier pages: for long lists use [`keyset`](Find::keyset).
    /// Replaces a limit and a skip that were set. The filter cannot contain
    /// [`near`](crate::FilterOps::near), as for [`Collection::count`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let page = orders.find_all().sort(|o| o.status().asc()).page(0, 2).await?;
    /// assert_eq!((page.items.len(), page.total, page.pages()), (2, 3, 2));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the size is 0, or if `number * size` exceeds `i64::MAX`;
    /// otherwise those of [`all`](Find::all).
    pub async fn page(self, number: u64, size: u32) -> Result<Page<T>> {
        boxed(Page::read(self, number, size)).await
    }

    /// Encrypts and authenticates the tokens of [`keyset`](Find::keyset) pages with a key: a client can
    /// neither read the values in them nor construct one. Tokens of another key, collection, sort or
    /// [context](TokenKey::context), and those without a key, are
    /// [`Error::InvalidPageToken`]. Default: tokens are not encrypted.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// # let key = TokenKey::new([7; 32]);
    /// let query = || orders.find_all().token_key(&key);
    /// let first = query().keyset(|o| o.note().asc(), None, 2).await?;
    /// let second = query().keyset(|o| o.note().asc(), first.next.as_deref(), 2).await?;
    /// assert_eq!(second.items.len(), 1);
    /// # Ok(()) });
    /// ```
    pub fn token_key(mut self, key: &TokenKey) -> Self {
        self.token_key = Some(key.clone());
        self
    }

    /// Reads the page after or before another page: `after` is the [`next`](KeysetPage::next) or
    /// [`previous`](KeysetPage::previous) token of that page, `None` for the first page.
    ///
    /// `_id` is added to the keys, so that the order of any two documents is defined. A document without
    /// a value for a key of an `Option` is sorted as null: before all others, or after them in
    /// descending order. Replaces a sort, a limit and a skip that were set.
    ///
    /// For one list, all pages need the same filter and collation: a token contains only the values of
    /// the keys in one document. Without a [`token_key`](Find::token_key) a client can read these
    /// values, and can construct a token that starts at other ones, but it cannot change the filter.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # type People = marula::Collection<Person>;
    /// # async fn run(people: People, token: Option<&str>) -> marula::Result<()> {
    /// let page = people.find_all().keyset(|p| p.age().desc(), token, 20).await?;
    /// for person in &page.items {
    ///     println!("{}", person.age);
    /// }
    /// let link = page.next.map(|token| format!("/people?after={token}"));
    /// # drop(link); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidPageToken`] if the token is malformed, longer than 64 KiB or belongs to
    /// another sort, or if the [`token_key`](Find::token_key) did not issue it;
    /// [`Error::InvalidArgument`] if the size is 0 or `u32::MAX`, or if a document of the page has
    /// no value for a key that is not an `Option`; otherwise those of [`all`](Find::all).
    pub fn keyset<S: IntoKeyset<D>>(
        self,
        keys: impl FnOnce(Fields<D>) -> S,
        after: Option<&str>,
        size: u32,
    ) -> Pin<Box<dyn Future<Output = Result<KeysetPage<T>>> + Send + 'a>> {
        // The type of the future does not contain that of the keys: a mistake in them is one error.
        let keys = Key::all(keys(D::fields()).into_keyset());
        let after = after.map(str::to_owned);
        boxed(async move { keyset::read(self, keys, after.as_deref(), size).await })
    }
}

/// Reads all documents, as [`Find::all`] does.
impl<'a, D: Model, T: Output> IntoFuture for Find<'a, D, T> {
    type Output = Result<Vec<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        boxed(async move { self.stream().await?.try_collect().await })
    }
}
