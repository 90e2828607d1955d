//! `find`, and the ways to read what it finds.

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

/// Puts the future of a whole query, with the cursor and its next batch, into a box, which keeps the futures of applications
/// small.
fn boxed<'a, T>(
    query: impl Future<Output = Result<T>> + Send + 'a,
) -> Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>> {
    Box::pin(query)
}

/// A query. Awaited it reads all documents, as [`all`](Find::all) does. See [`Collection::find`].
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

    /// Another condition that the documents must match, such as one that is stored.
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

    /// The order of the documents: a key, a tuple of keys, or a `Vec` of them, made one type by
    /// [`.erased()`](crate::sort::SortKey::erased).
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.options = self.options.sort(keys(D::fields()).into_sort());
        self
    }

    /// The driver's action with all that was set, unchecked from here on: for projections and options without a typed
    /// setter.
    ///
    /// # Errors
    /// An invalid filter.
    pub fn into_driver(self) -> Result<action::Find<'a, RawDocumentBuf>> {
        Ok(self
            .collection
            .inner
            .find(self.filter?)
            .with_options(self.options))
    }

    /// Reads the documents as they come.
    ///
    /// # Errors
    /// An invalid filter; what the driver reports.
    pub fn stream(self) -> impl Future<Output = Result<Documents<D>>> + Send + use<'a, D> {
        let namespace = self.collection.namespace().clone();
        // Not in the future, which would have to hold the query beside the driver's action.
        let finding = self.into_driver().map(IntoFuture::into_future);
        async move { Ok(Documents::new(finding?.await?, namespace)) }
    }

    /// Reads all documents.
    ///
    /// # Errors
    /// An invalid filter; a document that does not decode; what the driver reports.
    pub async fn all(self) -> Result<Vec<D>> {
        boxed(async move { self.stream().await?.try_collect().await }).await
    }

    /// Reads the first document, if there is one.
    ///
    /// # Errors
    /// An invalid filter; a document that does not decode; what the driver reports.
    pub async fn first(self) -> Result<Option<D>> {
        boxed(async move { self.limit(1).stream().await?.try_next().await }).await
    }

    /// Reads the one document that matches.
    ///
    /// # Errors
    /// [`Error::NotFound`] when none matches, [`Error::MoreThanOne`] when a second one does; an invalid filter; a
    /// document that does not decode; what the driver reports.
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

    /// Reads a page by its number, from 0, and counts all matching documents. Give a sort that leaves no ties open, or
    /// pages can overlap. Its cost grows with the number of the page: for long lists see [`keyset`](Find::keyset).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the size is 0; an invalid filter; a document that does not decode; what the driver
    /// reports.
    pub async fn page(self, number: u64, size: u32) -> Result<Page<D>> {
        boxed(Page::read(self, number, size)).await
    }

    /// Reads a page that begins where another ended: `after` is the [`next`](KeysetPage::next) or
    /// [`previous`](KeysetPage::previous) token of that page, `None` for the first page. `_id` is added to the keys, so that no
    /// two documents have the same place. Replaces a sort, a limit and a skip that were set.
    ///
    /// # Errors
    /// [`Error::InvalidPageToken`] when the token is not one of this sort; [`Error::InvalidArgument`] when the size is 0, or a
    /// document of the page has no value for a key; an invalid filter; a document that does not decode; what the driver
    /// reports.
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

/// All documents, as [`Find::all`].
impl<'a, D: Model> IntoFuture for Find<'a, D> {
    type Output = Result<Vec<D>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        boxed(async move { self.stream().await?.try_collect().await })
    }
}
