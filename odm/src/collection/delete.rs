//! `delete_one`, `delete_by_id` and `delete_many`.

use crate::collection::Collection;
use crate::collection::action::{awaitable, forward_options};
use crate::collection::write::checked;
use crate::driver::action;
use crate::driver::options::DeleteOptions;
use crate::error::Result;
use crate::filter::Conditions;
use crate::model::Model;

/// Deletes one document, or all that match. Output: the number of deleted documents. See
/// [`Collection::delete_one`] and [`Collection::delete_many`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Delete<'a, D> {
    collection: &'a Collection<D>,
    action: Result<action::Delete<'a>>,
}

impl<'a, D: Model> Delete<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>, many: bool) -> Self {
        let inner = &collection.inner;
        let action = filter.and_then(checked).map(|filter| {
            if many {
                inner.delete_many(filter)
            } else {
                inner.delete_one(filter)
            }
        });
        Delete { collection, action }
    }

    crate::driver::__delete_options! { forward_options { action: DeleteOptions } }

    /// Runs the action, which must delete a document. Output: the number of deleted documents, at
    /// least 1.
    ///
    /// Requires an acknowledged write concern. With `w: 0` the server returns no counts, and the
    /// call always fails with [`Error::NotFound`](crate::Error::NotFound), even if documents were
    /// deleted.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if no document matches,
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter), and
    /// [`Error::Driver`](crate::Error::Driver) for errors of the driver.
    pub fn required(self) -> impl Future<Output = Result<u64>> + Send + use<'a, D> {
        let collection = self.collection;
        let deleting = self.into_future();
        async move {
            match deleting.await? {
                0 => Err(collection.not_found()),
                deleted => Ok(deleted),
            }
        }
    }

    fn run(self) -> impl Future<Output = Result<u64>> + Send + use<'a, D> {
        let sending = self.action.map(IntoFuture::into_future);
        async move { Ok(sending?.await?.deleted_count) }
    }
}

awaitable!(['a, D: Model] Delete<'a, D> => u64);
