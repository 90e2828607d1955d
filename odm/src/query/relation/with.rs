//! [`Find::with`]: the documents of a query, each with the documents that it refers to and those that refer to it.

use std::pin::Pin;

use crate::{
    base::{error::Result, time_limit::TimeLimit},
    driver::options::FindOptions,
    models::{
        model::{Fields, Model},
        projection::Output,
    },
    path::{
        AsPath,
        marker::{HashedKey, Readable},
    },
    query::{
        handle::action::forward_options,
        observe::Call,
        read::{
            find::Find,
            keyset::{self, KeysetPage},
            page::Page,
            token::Key,
        },
        relation::{
            RefersTo,
            relations::{Alone, And, Counted, FromOne, Loading, Relations, Row, ToEach, ToMany, ToOne},
            rows::{Reader, Undecoded},
            source::Related,
        },
    },
    term::{
        expr::Single,
        filter::Filter,
        sort::{IntoKeyset, IntoSort},
    },
};

/// Types of fields that refer to one document: ids, a [`Ref`](crate::Ref), and the `Option` of these; not arrays.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` does not refer to one document",
    label = "expected an id or a `Ref`, or the `Option` of one",
    note = "for an array of references use `with_each`, or `with_many` without a limit and a number"
)]
pub trait OneKey {}
#[diagnostic::do_not_recommend]
impl<T: HashedKey> OneKey for T {}

/// A query whose documents are read together with others. Awaited, it reads all documents, as [`all`](FindWith::all) does. See
/// [`Find::with`].
///
/// The output of a document is a tuple: the document, and what each relation reads for it, in the order in which the relations were
/// added. The options, the filter and the sort are those of the documents, not of the related ones.
///
/// If the future of a method is dropped, the cursors on the server are closed in the background.
#[must_use = "nothing is sent before the query, or a method such as `first`, is awaited"]
pub struct FindWith<'a, D, T, L> {
    pub(super) find: Find<'a, D, T>,
    pub(super) relations: L,
}

/// A query with the documents of the query `Q` whose field `K` refers to each.
pub type WithMany<'a, D, T, L, Q, K> = FindWith<'a, D, T, And<L, ToMany<<Q as Related>::Source, K>>>;

/// Loads related documents. Each relation is one more query, for all documents together; more than 10,000 distinct keys are several,
/// one after the other. A session, a transaction (also that of a [bound](crate::driver::ClientSession::bind) handle) and a `timeout`
/// of the query include those of its relations.
impl<'a, D: Model, T: Output> Find<'a, D, T> {
    /// Reads each document with the one that it refers to, as an `Option`: `None` if the reference is `None`, or if no
    /// document has the id. The output is a tuple.
    ///
    /// The referenced documents are read by one query for all documents, as [`load`](crate::Collection::load) does. The
    /// query is the collection, or a [`find`](crate::Collection::find) in it with a filter, a projection, or relations of
    /// its own. A filter leaves out referenced documents, not those that refer to them: to select by fields of the
    /// referenced documents, use [`Pipeline::join`](crate::Pipeline::join). A document that several refer to is decoded for
    /// each.
    ///
    /// Keys are equal if the server compares them as equal without a collation: an Int32 and an Int64 are. The condition on the keys is a
    /// filter: stored documents of an older [schema version](derive@crate::Document#schema-versions) whose reference had another name are
    /// not found by it.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let recent = orders.find_all().sort(|o| o.created_at().desc()).limit(20);
    /// for (order, customer) in recent.with(|o| o.customer(), &customers).await? {
    ///     println!("{}: {}", order.id, customer.map_or("(deleted)".to_owned(), |c| c.email));
    /// }
    /// # Ok(()) });
    /// ```
    #[doc(alias = "populate")]
    #[doc(alias = "join")]
    #[doc(alias = "include")]
    pub fn with<Q: Related, A>(
        self,
        reference: impl FnOnce(Fields<D>) -> A,
        query: Q,
    ) -> FindWith<'a, D, T, And<Alone, ToOne<Q::Source>>>
    where
        A: AsPath<Root = D, Mode: Single, Value: OneKey + RefersTo<Q::Model>>,
    {
        FindWith::alone(self).and(ToOne::new(&reference(D::fields()), query))
    }

    /// Reads each document with those that the elements of an array refer to: a `Vec` with an `Option` for each element, in
    /// its order. The array can be one of references, or of documents with references.
    ///
    /// ```
    /// use marula::{Document, Ref};
    /// # use marula_guide::*;
    /// #[derive(Document)]
    /// #[document(collection = "teams")]
    /// struct Team {
    ///     _id: i64,
    ///     members: Vec<Ref<Customer>>,
    /// }
    /// # run(async |Shop { server, client, db, orders, customers }| {
    /// let teams = db.collection::<Team>();
    /// teams.insert_one(&Team { _id: 1, members: vec![Ref::new(2), Ref::new(9), Ref::new(1)] }).await?;
    /// let (_, members) = teams.find_all().with_each(|t| t.members(), &customers).one().await?;
    /// let ids: Vec<Option<i64>> = members.iter().map(|m| m.as_ref().map(|c| c.id)).collect();
    /// assert_eq!(ids, [Some(2), None, Some(1)]);
    /// # Ok(()) });
    /// ```
    pub fn with_each<Q: Related, A>(
        self,
        references: impl FnOnce(Fields<D>) -> A,
        query: Q,
    ) -> FindWith<'a, D, T, And<Alone, ToEach<Q::Source>>>
    where
        A: AsPath<Root = D, Mode: Readable, Value: RefersTo<Q::Model>>,
    {
        FindWith::alone(self).and(ToEach::new(&references(D::fields()), query))
    }

    /// Reads each document with those of another collection that refer to it by its id: a `Vec`, in the order of their
    /// query. They are read by one query for all documents. In a relation of a relation each is decoded as often as there is a document that
    /// it belongs to. Limit them by [`per_parent`](FindWith::per_parent).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let by_total = orders.find_all().sort(|o| o.total().desc());
    /// let all = customers.find_all().with_many(by_total, |o| o.customer()).per_parent(5).await?;
    /// for (customer, largest) in all {
    ///     println!("{}: {:?}", customer.email, largest.first().map(|o| o.total));
    /// }
    /// # Ok(()) });
    /// ```
    #[doc(alias = "populate")]
    pub fn with_many<Q: Related, K>(
        self,
        query: Q,
        reference: impl FnOnce(Fields<Q::Model>) -> K,
    ) -> WithMany<'a, D, T, Alone, Q, K>
    where
        K: AsPath<Root = Q::Model, Mode: Readable, Value: RefersTo<D>>,
    {
        FindWith::alone(self).and(ToMany::new(query, &reference(Q::Model::fields())))
    }

    /// Reads each document with the first that refers to it by its id, in the order of the query: for relations in which at
    /// most one does, such as the profile of a user. All that refer to it are read.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let largest = orders.find(|o| o.total().gt(100)).sort(|o| o.total().desc());
    /// for (customer, order) in customers.find_all().with_one(largest, |o| o.customer()).await? {
    ///     println!("{}: {:?}", customer.email, order.map(|o| o.total));
    /// }
    /// # Ok(()) });
    /// ```
    pub fn with_one<Q: Related, K>(
        self,
        query: Q,
        reference: impl FnOnce(Fields<Q::Model>) -> K,
    ) -> FindWith<'a, D, T, And<Alone, FromOne<Q::Source>>>
    where
        K: AsPath<Root = Q::Model, Mode: Readable, Value: RefersTo<D>>,
    {
        FindWith::alone(self).and(FromOne::new(query, &reference(Q::Model::fields())))
    }

    /// Reads each document with the number of documents that refer to it by its id, which one aggregation counts for all
    /// documents. It supports neither `near` in the filter nor a collation other than `simple`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open = orders.find(|o| o.status().eq(Status::Open));
    /// for (customer, number) in customers.find_all().with_count(open, |o| o.customer()).await? {
    ///     println!("{}: {number} open orders", customer.email);
    /// }
    /// # Ok(()) });
    /// ```
    pub fn with_count<Q: Related, K>(
        self,
        query: Q,
        reference: impl FnOnce(Fields<Q::Model>) -> K,
    ) -> FindWith<'a, D, T, And<Alone, Counted<Q::Source>>>
    where
        K: AsPath<Root = Q::Model, Mode: Single, Value: OneKey + RefersTo<D>>,
    {
        FindWith::alone(self).and(Counted::new(query, &reference(Q::Model::fields())))
    }
}

impl<'a, D: Model, T: Output> FindWith<'a, D, T, Alone> {
    /// A query without relations.
    pub(super) fn alone(find: Find<'a, D, T>) -> Self {
        FindWith {
            find,
            relations: Alone(()),
        }
    }
}

impl<'a, D: Model, T: Output, L> FindWith<'a, D, T, L> {
    fn and<R>(self, relation: R) -> FindWith<'a, D, T, And<L, R>> {
        FindWith {
            find: self.find,
            relations: And {
                others: self.relations,
                relation,
            },
        }
    }

    /// See [`Find::with`].
    pub fn with<Q: Related, A>(
        self,
        reference: impl FnOnce(Fields<D>) -> A,
        query: Q,
    ) -> FindWith<'a, D, T, And<L, ToOne<Q::Source>>>
    where
        A: AsPath<Root = D, Mode: Single, Value: OneKey + RefersTo<Q::Model>>,
    {
        self.and(ToOne::new(&reference(D::fields()), query))
    }

    /// See [`Find::with_each`].
    pub fn with_each<Q: Related, A>(
        self,
        references: impl FnOnce(Fields<D>) -> A,
        query: Q,
    ) -> FindWith<'a, D, T, And<L, ToEach<Q::Source>>>
    where
        A: AsPath<Root = D, Mode: Readable, Value: RefersTo<Q::Model>>,
    {
        self.and(ToEach::new(&references(D::fields()), query))
    }

    /// See [`Find::with_many`].
    pub fn with_many<Q: Related, K>(
        self,
        query: Q,
        reference: impl FnOnce(Fields<Q::Model>) -> K,
    ) -> WithMany<'a, D, T, L, Q, K>
    where
        K: AsPath<Root = Q::Model, Mode: Readable, Value: RefersTo<D>>,
    {
        self.and(ToMany::new(query, &reference(Q::Model::fields())))
    }

    /// See [`Find::with_one`].
    pub fn with_one<Q: Related, K>(
        self,
        query: Q,
        reference: impl FnOnce(Fields<Q::Model>) -> K,
    ) -> FindWith<'a, D, T, And<L, FromOne<Q::Source>>>
    where
        K: AsPath<Root = Q::Model, Mode: Readable, Value: RefersTo<D>>,
    {
        self.and(FromOne::new(query, &reference(Q::Model::fields())))
    }

    /// See [`Find::with_count`].
    pub fn with_count<Q: Related, K>(
        self,
        query: Q,
        reference: impl FnOnce(Fields<Q::Model>) -> K,
    ) -> FindWith<'a, D, T, And<L, Counted<Q::Source>>>
    where
        K: AsPath<Root = Q::Model, Mode: Single, Value: OneKey + RefersTo<D>>,
    {
        self.and(Counted::new(query, &reference(Q::Model::fields())))
    }

    crate::driver::__find_options! { forward_options { find: FindOptions } }

    /// See [`Find::limit`].
    pub fn limit(mut self, limit: u32) -> Self {
        self.find = self.find.limit(limit);
        self
    }

    /// See [`Find::filter`].
    pub fn filter(mut self, filter: Filter<D>) -> Self {
        self.find = self.find.filter(filter);
        self
    }

    /// See [`Find::sort`].
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.find = self.find.sort(keys);
        self
    }

    /// See [`Find::token_key`].
    pub fn token_key(mut self, key: &crate::TokenKey) -> Self {
        self.find = self.find.token_key(key);
        self
    }
}

impl<D, T, L, Q, K: AsPath> FindWith<'_, D, T, And<L, ToMany<Q, K>>> {
    /// Maximum number of documents that the last relation reads for each document: the first ones in the order of its query, by
    /// default that of `_id`. The server selects them (`$setWindowFields`, MongoDB 5.0+). An error if it is 0, if the filter of
    /// the query has `near`, or if the query has a collation other than `simple`; not for models with encrypted fields.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let newest = orders.find_all().sort(|o| o.created_at().desc());
    /// let all = customers.find_all().with_many(newest, |o| o.customer()).per_parent(1).await?;
    /// assert!(all.iter().all(|(_, newest)| newest.len() == 1));
    /// # Ok(()) });
    /// ```
    pub fn per_parent(mut self, number: u32) -> Self
    where
        K: AsPath<Mode: Single, Value: OneKey>,
    {
        self.relations.relation.limit(number);
        self
    }
}

/// The future of a query with relations.
type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;
/// What is read for a document.
type Item<T, L> = <<L as Relations<T>>::Row as Row>::Item;

/// A query with relations that runs.
struct Prepared<'a, D, T, L> {
    /// The query, until it is taken.
    find: Find<'a, D, Undecoded>,
    reader: Reader<T>,
    relations: L,
    loading: Loading<'a>,
}

impl<'a, D: Model, T: Output, L: Relations<T>> Prepared<'a, D, T, L> {
    fn new(with: FindWith<'a, D, T, L>) -> Result<Self> {
        let mut paths = Vec::new();
        with.relations.paths(&mut paths)?;
        let mut find = with.find;
        let loading = Loading {
            session: find.session.take(),
            limit: TimeLimit::begin(find.options.__timeout()),
            bound: find.collection.transaction().cloned(),
        };
        let (find, reader) = Reader::of(find, paths)?;
        Ok(Prepared {
            find,
            reader,
            relations: with.relations,
            loading,
        })
    }

    /// The query of the documents, in the session of the call.
    fn query(&mut self) -> Find<'_, D, Undecoded> {
        Find {
            session: self.loading.session.as_deref_mut(),
            ..self.find.again()
        }
    }

    /// The documents, with what belongs to them.
    async fn finish(mut self, documents: Vec<Undecoded>) -> Result<Vec<Item<T, L>>> {
        let call = Call::new::<D>(self.find.collection.namespace(), "find_with");
        let loading = async {
            let (items, columns) = self.reader.read(documents)?;
            let rows = self.relations.load(items, columns, &mut self.loading).await?;
            Ok(rows.into_iter().map(Row::item).collect())
        };
        call.observe(loading).await
    }
}

impl<'a, D: Model, T: Output, L: Relations<T> + 'a> FindWith<'a, D, T, L> {
    /// Reads all documents, and those that belong to them, into memory. For results of unknown size use
    /// [`page`](FindWith::page), [`keyset`](FindWith::keyset) or a [`limit`](FindWith::limit).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let all = orders.find(|o| o.total().gt(100)).with(|o| o.customer(), &customers).all().await?;
    /// assert_eq!(all.len(), 2);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`Find::all`], also of the queries of the relations; [`Error::InvalidArgument`](crate::Error::InvalidArgument) if one of these has a session, a
    /// `limit` or a `skip`, or finds a document that refers to another one only by its collation.
    pub fn all(self) -> Running<'a, Vec<Item<T, L>>> {
        Box::pin(async move {
            let mut prepared = Prepared::new(self)?;
            let documents = prepared.query().all().await?;
            prepared.finish(documents).await
        })
    }

    /// Reads the first document in the order of [`sort`](FindWith::sort), with those that belong to it. `None` if no document
    /// matches. Replaces a limit that was set.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let found = orders.find(|o| o.id().eq(1)).with(|o| o.customer(), &customers).first().await?;
    /// let (order, customer) = found.expect("an order");
    /// assert_eq!(customer.map(|c| c.id), Some(order.customer));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`all`](FindWith::all).
    pub fn first(self) -> Running<'a, Option<Item<T, L>>> {
        Box::pin(async move {
            let mut prepared = Prepared::new(self)?;
            let document = prepared.query().first().await?;
            Ok(prepared.finish(document.into_iter().collect()).await?.pop())
        })
    }

    /// Reads the only document that matches, with those that belong to it. Replaces a limit that was set.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let order = orders.find(|o| o.id().eq(1)).with(|o| o.customer(), &customers);
    /// let (order, customer) = order.one().await?;
    /// assert_eq!(customer.map(|c| c.id), Some(order.customer));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`Find::one`] and of [`all`](FindWith::all).
    pub fn one(self) -> Running<'a, Item<T, L>> {
        Box::pin(async move {
            let collection = self.find.collection;
            let mut prepared = Prepared::new(self)?;
            let document = prepared.query().one().await?;
            let found = prepared.finish(vec![document]).await?.pop();
            found.ok_or_else(|| collection.not_found())
        })
    }

    /// Reads a page by its number, from 0, and counts all matching documents: two commands, and one for each relation. See
    /// [`Find::page`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let page = orders.find_all().with(|o| o.customer(), &customers).page(0, 2).await?;
    /// assert_eq!((page.items.len(), page.total), (2, 3));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`Find::page`] and of [`all`](FindWith::all).
    pub fn page(self, number: u64, size: u32) -> Running<'a, Page<Item<T, L>>> {
        Box::pin(async move {
            let mut prepared = Prepared::new(self)?;
            let page = prepared.query().page(number, size).await?;
            Ok(Page {
                number: page.number,
                size: page.size,
                total: page.total,
                items: prepared.finish(page.items).await?,
            })
        })
    }

    /// Reads the page after or before another page, by the tokens of that page. See [`Find::keyset`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let page = orders.find_all().with(|o| o.customer(), &customers).keyset(|o| o.total().desc(), None, 2).await?;
    /// assert_eq!(page.items[0].0.total, 300);
    /// assert!(page.next.is_some());
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`Find::keyset`] and of [`all`](FindWith::all).
    pub fn keyset<S: IntoKeyset<D>>(
        self,
        keys: impl FnOnce(Fields<D>) -> S,
        after: Option<&str>,
        size: u32,
    ) -> Running<'a, KeysetPage<Item<T, L>>> {
        let keys = Key::all(keys(D::fields()).into_keyset());
        let after = after.map(str::to_owned);
        Box::pin(async move {
            let mut prepared = Prepared::new(self)?;
            let page = keyset::read(prepared.query(), keys, after.as_deref(), size).await?;
            Ok(KeysetPage {
                next: page.next,
                previous: page.previous,
                items: prepared.finish(page.items).await?,
            })
        })
    }
}

/// Reads all documents, as [`FindWith::all`] does.
impl<'a, D: Model, T: Output, L: Relations<T> + 'a> IntoFuture for FindWith<'a, D, T, L> {
    type Output = Result<Vec<Item<T, L>>>;
    type IntoFuture = Running<'a, Vec<Item<T, L>>>;

    fn into_future(self) -> Self::IntoFuture {
        self.all()
    }
}
