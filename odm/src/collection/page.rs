//! Pages by number.

use crate::collection::find::Find;
use crate::driver::options::CountDocumentsOptions;
use crate::error::{Error, Result};
use crate::model::Model;

/// A page of documents, and how many there are in all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<D> {
    /// The documents of the page.
    pub items: Vec<D>,
    /// The number of the page, from 0.
    pub number: u64,
    /// The most documents of a page.
    pub size: u32,
    /// How many documents match, on all pages. Counted apart, so it can differ from what the pages held when it was.
    pub total: u64,
}

impl<D: Model> Page<D> {
    pub(super) async fn read(find: Find<'_, D>, number: u64, size: u32) -> Result<Self> {
        let skip = number
            .checked_mul(size.into())
            .filter(|s| i64::try_from(*s).is_ok());
        let (Some(skip), 1..) = (skip, size) else {
            return Err(Error::argument(
                "a page has at least one document, and a number that is not beyond all bounds",
            ));
        };
        let total = find
            .collection
            .inner
            .count_documents(find.filter.clone()?)
            .with_options(CountDocumentsOptions::from(&find.options))
            .await?;
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

    /// How many pages there are.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.total.div_ceil(self.size.max(1).into())
    }
}
