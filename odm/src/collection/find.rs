//! `find`: options, and the methods that run the query.

use std::pin::Pin;

use crate::bson::RawDocumentBuf;
use crate::collection::Collection;
use crate::collection::action::forward_options;
use crate::collection::documents::Documents;
use crate::collection::keyset::{self, KeysetPage};
use crate::collection::page::Page;
use crate::driver::action;
use crate::driver::options::FindOptions;
use crate::error::{Error, Result};
use crate::filter::{Conditions, Filter};
use crate::model::{Fields, Model};
use crate::sort::{IntoKeyset, IntoSort};

/// Boxes the future of a query, so that the futures of applications do not contain the cursor and
/// its batch.
fn boxed<'a, T>(
    query: impl Future<Output = Result<T>> + Send + 'a,
) -> Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>> {
    Box::pin(query)
}

/// A query. Awaited, it reads all documents, as [`all`](Find::all) does. See [`Collection::find`].
#[must_use = "nothing is sent before the query, or a method such as `first`, is awaited"]
pub struct Find<'a, D> {
    pub(super) collection: &'a Collection<D>,
    pub(super) filter: Result<Conditions>,
    pub(super) options: FindOptions,
}

impl<'a, D: Model> Find<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>) -> Self {
        Find {
            collection,
            filter,
            options: FindOptions::default(),
        }
    }

    crate::driver::__find_options! { forward_options { options: FindOptions } }

    /// Maximum number of documents to find. Default: 0, all documents.
    pub fn limit(mut self, limit: u32) -> Self {
        self.options = self.options.limit(i64::from(limit));
        self
    }

    /// Adds a filter, which the documents must also match.
    ///
    /// ```no_run
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let adults: Filter<Person> = Person::fields().age().gte(18);
    /// let first = people.find_all().filter(adults.clone()).limit(10).await?;
    /// # drop(first); Ok(()) }
    /// ```
    pub fn filter(mut self, filter: Filter<D>) -> Self {
        self.filter = self.filter.and_then(|all| Ok(all.and(filter.into_conditions()?)));
        self
    }

    /// The order of the documents: a key, a tuple of keys, or a `Vec` of keys, which have the same
    /// type after [`.erased()`](crate::sort::SortKey::erased). Default: no particular order.
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.options = self.options.sort(keys(D::fields()).into_sort());
        self
    }

    /// The driver's action with the filter and the options: for projections, and for options
    /// without a typed setter.
    ///
    /// # Errors
    /// [`Error::InvalidFilter`]; [`Error::Encode`] for a value of the filter.
    pub fn into_driver(self) -> Result<action::Find<'a, RawDocumentBuf>> {
        Ok(self
            .collection
            .inner
            .find(self.filter?)
            .with_options(self.options))
    }

    /// Runs the query and returns a stream of the documents.
    ///
    /// # Errors
    /// [`Error::InvalidFilter`]; [`Error::Driver`] for errors of the driver.
    pub fn stream(self) -> impl Future<Output = Result<Documents<D>>> + Send + use<'a, D> {
        let namespace = self.collection.namespace().clone();
        // Not inside the future, which would then contain both the query and the driver's action.
        let finding = self.into_driver().map(IntoFuture::into_future);
        async move { Ok(Documents::new(finding?.await?, namespace)) }
    }

    /// Reads all documents.
    ///
    /// # Errors
    /// [`Error::InvalidFilter`]; [`Error::Decode`] for a document that cannot be decoded;
    /// [`Error::Driver`] for errors of the driver.
    pub async fn all(self) -> Result<Vec<D>> {
        boxed(async move { self.stream().await?.try_collect().await }).await
    }

    /// Reads the first document. `None` if no document matches.
    ///
    /// # Errors
    /// [`Error::InvalidFilter`]; [`Error::Decode`] for a document that cannot be decoded;
    /// [`Error::Driver`] for errors of the driver.
    pub async fn first(self) -> Result<Option<D>> {
        boxed(async move { self.limit(1).stream().await?.try_next().await }).await
    }

    /// Reads the only document that matches.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no document matches, [`Error::MoreThanOne`] if more than one does;
    /// otherwise those of [`all`](Find::all).
    pub async fn one(self) -> Result<D> {
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

    /// Reads a page by its number, from 0, and counts all matching documents.
    ///
    /// Set a sort in which no two documents are equal, for example with `_id` as the last key;
    /// otherwise pages can overlap. The server reads and skips all earlier pages: for long lists
    /// use [`keyset`](Find::keyset).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the size is 0, or if `number * size` exceeds `i64::MAX`;
    /// otherwise those of [`all`](Find::all).
    pub async fn page(self, number: u64, size: u32) -> Result<Page<D>> {
        boxed(Page::read(self, number, size)).await
    }

    /// Reads the page after or before another page: `after` is the [`next`](KeysetPage::next) or
    /// [`previous`](KeysetPage::previous) token of that page, `None` for the first page.
    ///
    /// `_id` is added to the keys, so that the order of any two documents is defined. Replaces a
    /// sort, a limit and a skip that were set.
    ///
    /// # Errors
    /// [`Error::InvalidPageToken`] if the token belongs to another sort; [`Error::InvalidArgument`]
    /// if the size is 0 or `u32::MAX`, or if a document of the page has no value for a key;
    /// otherwise those of [`all`](Find::all).
    pub async fn keyset<S: IntoKeyset<D>>(
        self,
        keys: impl FnOnce(Fields<D>) -> S,
        after: Option<&str>,
        size: u32,
    ) -> Result<KeysetPage<D>> {
        let keys = keys(D::fields()).into_sort();
        boxed(keyset::read(self, keys, after, size)).await
    }
}

/// Reads all documents, as [`Find::all`] does.
impl<'a, D: Model> IntoFuture for Find<'a, D> {
    type Output = Result<Vec<D>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        boxed(async move { self.stream().await?.try_collect().await })
    }
}
