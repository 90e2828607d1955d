//! `find_one_and_update`, `find_one_and_replace` and `find_one_and_delete`.

use std::time::Duration;

use crate::bson::{Bson, Document, RawDocumentBuf, to_raw_document};
use crate::collection::Collection;
use crate::collection::action::{awaitable, forward};
use crate::collection::decode::decode;
use crate::collection::update::{Ready, compiled};
use crate::driver::action;
use crate::driver::options::{Collation, Hint, ReturnDocument};
use crate::error::{Error, Result};
use crate::filter::Conditions;
use crate::model::{Fields, Model};
use crate::sort::IntoSort;
use crate::stored::Stored;
use crate::update::Update;

/// Changes or deletes one document and returns it; awaited, it gives `None` when nothing matches. See
/// [`Collection::find_one_and_update`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct FindOneAnd<'a, D> {
    collection: &'a Collection<D>,
    action: Result<action::FindOneAnd<'a, RawDocumentBuf>>,
    array_filters: Vec<Document>,
}

impl<'a, D: Model> FindOneAnd<'a, D> {
    pub(super) fn update(
        collection: &'a Collection<D>,
        filter: Result<Conditions>,
        update: Update<D>,
    ) -> Self {
        let mut array_filters = Vec::new();
        let action = filter.and_then(|filter| {
            let (update, filters) = compiled(update)?;
            array_filters = filters;
            let action = collection.inner.find_one_and_update(filter, Ready(update));
            Ok(if array_filters.is_empty() {
                action
            } else {
                action.array_filters(&array_filters)
            })
        });
        FindOneAnd {
            collection,
            action,
            array_filters,
        }
    }

    pub(super) fn delete(collection: &'a Collection<D>, filter: Result<Conditions>) -> Self {
        FindOneAnd {
            collection,
            action: filter.map(|filter| collection.inner.find_one_and_delete(filter)),
            array_filters: Vec::new(),
        }
    }

    pub(super) fn replace(collection: &'a Collection<D>, filter: Result<Conditions>, document: &D) -> Self {
        let action = filter.and_then(|filter| {
            let document = to_raw_document(&Stored::new(document)).map_err(|e| Error::Encode {
                path: e.path().to_owned(),
                source: crate::ValueError::new(e.message()),
            })?;
            Ok(collection.inner.find_one_and_replace(filter, &document))
        });
        FindOneAnd {
            collection,
            action,
            array_filters: Vec::new(),
        }
    }

    forward! {
        /// Insert a document when none matches. No effect on a delete. Default: no.
        upsert: [bool];
        /// The index the server must use, by name or by keys.
        hint: [into Hint];
        /// How strings compare.
        collation: [into Collation];
        /// How long the server may work on the operation.
        max_time: [Duration];
        /// Skip the collection's schema validation.
        bypass_document_validation: [bool];
        /// A note that shows up in the server's logs and profiler.
        comment: [into Bson];
    }

    /// Which of several matching documents is taken.
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.action = self
            .action
            .map(|action| action.sort(keys(D::fields()).into_sort()));
        self
    }

    /// Variables for `$expr` and pipelines, read as `$$name`.
    pub fn let_vars(mut self, variables: Document) -> Self {
        self.action = self.action.map(|action| action.let_vars(variables));
        self
    }

    /// The document as it was before the change (the default) or as it is after it. No effect on a delete.
    pub fn return_document(mut self, which: ReturnDocument) -> Self {
        self.action = self.action.map(|action| action.return_document(which));
        self
    }

    /// The array filters of an update that was given raw, beside those that typed ones carry along (`f0`, `f1` …).
    pub fn raw_array_filters(mut self, filters: impl IntoIterator<Item = Document>) -> Self {
        self.array_filters.extend(filters);
        self.action = self
            .action
            .map(|action| action.array_filters(&self.array_filters));
        self
    }

    fn run(self) -> impl Future<Output = Result<Option<D>>> + Send + use<'a, D> {
        let collection = self.collection;
        let sending = self.action.map(IntoFuture::into_future);
        async move {
            let found = sending?.await?;
            found.map(|raw| decode(collection.namespace(), &raw)).transpose()
        }
    }
}

awaitable!(['a, D: Model] FindOneAnd<'a, D> => Option<D>);
