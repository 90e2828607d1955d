//! Pagination by page number, with `skip` and `limit`.

use crate::{
    base::{
        bson::{Document, decode_document},
        error::{Error, Result},
    },
    driver::options::CountDocumentsOptions,
    models::{managed::CollectionKind, model::Model, projection::Output},
    query::{handle::action::in_session, read::find::Find},
};

/// A page of documents, with the number of all matching documents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<D> {
    /// The documents of the page.
    pub items: Vec<D>,
    /// The number of the page, from 0.
    pub number: u64,
    /// Maximum number of documents of a page.
    pub size: u32,
    /// Number of matching documents on all pages. Counted by a command of its own: concurrent
    /// writes can make it differ from the pages.
    pub total: u64,
}

impl<T> Page<T> {
    pub(in crate::query) async fn read<D: Model>(
        mut find: Find<'_, D, T>,
        number: u64,
        size: u32,
    ) -> Result<Self>
    where
        T: Output,
    {
        let skip = number
            .checked_mul(size.into())
            .filter(|s| i64::try_from(*s).is_ok());
        let (Some(skip), 1..) = (skip, size) else {
            return Err(Error::argument(
                "the page size must be at least 1, and the number times the size at most 9223372036854775807",
            ));
        };
        find.sort = total_order(&find)?;
        let counting = find
            .collection
            .inner
            .count_documents(find.filter.clone()?)
            .with_options(CountDocumentsOptions::from(&find.options));
        let total = in_session!(find.session.as_deref_mut(), counting).await?;
        let items = if skip < total {
            find.skip(skip).limit(size).all().await?
        } else {
            Vec::new()
        };
        Ok(Page {
            items,
            number,
            size,
            total,
        })
    }

    /// Number of pages, from [`total`](Page::total) and [`size`](Page::size). 0 if no document
    /// matches.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let page = orders.find_all().sort(|o| o.id().asc()).page(1, 2).await?;
    /// assert_eq!(page.pages(), 2);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.total.div_ceil(self.size.max(1).into())
    }
}

/// The sort of a query. Empty if it has none.
pub(in crate::query) fn sort_of<D, T>(find: &Find<'_, D, T>) -> Result<Document> {
    match (&find.sort, find.options.__sort()) {
        (Some(sort), _) => Ok(sort.clone()),
        (None, Some(sort)) => decode_document(sort.as_bytes())
            .map_err(|e| Error::argument(format!("the sort of the options is malformed: {e}"))),
        (None, None) => Ok(Document::new()),
    }
}

/// The sort of the pages: with `_id` as its last key, unless no two documents are equal in it already.
fn total_order<D: Model, T>(find: &Find<'_, D, T>) -> Result<Option<Document>> {
    let mut sort = sort_of(find)?;
    let is_key = |path: &str| sort.get(path).is_some_and(|key| key.as_document().is_none());
    let is_unique =
        find.options.__collation().is_none() && D::indexes().iter().any(|index| index.makes_unique(is_key));
    // The order of insertion, with which `$natural` is the only key.
    let is_natural =
        sort.contains_key("$natural") || sort.is_empty() && D::BEHAVIOR.kind == CollectionKind::Capped;
    if !is_unique && !is_natural && !sort.contains_key("_id") {
        sort.insert("_id", 1);
    }
    Ok((!sort.is_empty()).then_some(sort))
}
