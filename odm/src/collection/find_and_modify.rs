//! `find_one_and_update`, `find_one_and_replace` and `find_one_and_delete`.

use std::time::Duration;

use crate::bson::{Bson, Document, RawDocumentBuf};
use crate::collection::Collection;
use crate::collection::action::{awaitable, options, pass_on};
use crate::collection::decode::decode;
use crate::collection::update::Ready;
use crate::collection::write::{check_upsert_without_id, checked, prepare, replacement};
use crate::driver::action;
use crate::driver::options::{Collation, Hint, ReturnDocument};
use crate::error::Result;
use crate::filter::Conditions;
use crate::model::{Fields, Model};
use crate::sort::IntoSort;
use crate::update::Update;

/// Changes or deletes one document and returns it; awaited, it gives `None` when nothing matches. See
/// [`Collection::find_one_and_update`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct FindOneAnd<'a, D> {
    collection: &'a Collection<D>,
    filter: Result<Conditions>,
    change: Change<D>,
    upsert: bool,
    array_filters: Vec<Document>,
    hint: Option<Hint>,
    collation: Option<Collation>,
    max_time: Option<Duration>,
    bypass_document_validation: Option<bool>,
    comment: Option<Bson>,
    let_vars: Option<Document>,
    sort: Option<Document>,
    return_document: Option<ReturnDocument>,
}

/// What is done with the document.
enum Change<D> {
    Update(Update<D>),
    Delete,
    Replace {
        document: Result<RawDocumentBuf>,
        lacks_id: bool,
    },
}

impl<'a, D: Model> FindOneAnd<'a, D> {
    fn new(collection: &'a Collection<D>, filter: Result<Conditions>, change: Change<D>) -> Self {
        FindOneAnd {
            collection,
            filter,
            change,
            upsert: false,
            array_filters: Vec::new(),
            hint: None,
            collation: None,
            max_time: None,
            bypass_document_validation: None,
            comment: None,
            let_vars: None,
            sort: None,
            return_document: None,
        }
    }

    pub(super) fn update(
        collection: &'a Collection<D>,
        filter: Result<Conditions>,
        update: Update<D>,
    ) -> Self {
        Self::new(collection, filter, Change::Update(update))
    }

    pub(super) fn delete(collection: &'a Collection<D>, filter: Result<Conditions>) -> Self {
        Self::new(collection, filter, Change::Delete)
    }

    pub(super) fn replace(collection: &'a Collection<D>, filter: Result<Conditions>, document: &D) -> Self {
        let lacks_id = document.lacks_id();
        let document = replacement(document);
        Self::new(collection, filter, Change::Replace { document, lacks_id })
    }

    options! {
        /// The index the server must use, by name or by keys.
        hint: [into Hint];
        /// How strings compare.
        collation: [into Collation];
        /// How long the server may work on the operation; it then answers with code 50. Zero means no limit, even where the
        /// cluster has a default limit (`defaultMaxTimeMS`). Default: the cluster's.
        max_time: [Duration];
        /// Skip the collection's schema validation.
        bypass_document_validation: [bool];
        /// A note that shows up in the server's logs and profiler.
        comment: [into Bson];
        /// Variables for `$expr` and pipelines, read as `$$name`.
        let_vars: [Document];
        /// The document as it was before the change (the default) or as it is after it. No effect on a delete.
        return_document: [ReturnDocument];
    }

    /// Insert a document when none matches. No effect on a delete. Default: no.
    ///
    /// Its id is that of the filter, of the replacement or of the update, else a new one by the model's source of ids.
    /// [`Error::MissingId`](crate::Error::MissingId) when there is none of these;
    /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) when a field of an enum variant is changed, because another
    /// variant in its place would make the upsert insert a second document.
    pub fn upsert(mut self, yes: bool) -> Self {
        self.upsert = yes;
        self
    }

    /// Which of several matching documents is taken.
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.sort = Some(keys(D::fields()).into_sort());
        self
    }

    /// The array filters of an update that was given raw, beside those that typed ones carry along (`f0`, `f1` …).
    pub fn raw_array_filters(mut self, filters: impl IntoIterator<Item = Document>) -> Self {
        self.array_filters.extend(filters);
        self
    }

    /// The document; [`Error::NotFound`](crate::Error::NotFound) when nothing matches.
    ///
    /// An upsert that inserts has no document from before the change, and fails so although it had its effect: ask for the
    /// document after it, by [`return_document`](FindOneAnd::return_document). Needs a write concern other than `w: 0`: the
    /// server sends no document for an unacknowledged write, so the call always fails so.
    ///
    /// # Errors
    /// Also an invalid filter or update; a document that does not decode; what the driver reports.
    pub fn required(self) -> impl Future<Output = Result<D>> + Send + use<'a, D> {
        let collection = self.collection;
        let found = self.into_future();
        async move { found.await?.ok_or_else(|| collection.not_found()) }
    }

    /// The driver's action with all that was set.
    fn action(self) -> Result<action::FindOneAnd<'a, RawDocumentBuf>> {
        let inner = &self.collection.inner;
        let mut array_filters = Vec::new();
        let mut action = match self.change {
            Change::Update(update) => {
                let prepared = prepare(self.collection, self.filter, update, self.upsert)?;
                array_filters = prepared.array_filters;
                inner.find_one_and_update(prepared.filter, Ready(prepared.update))
            }
            Change::Delete => inner.find_one_and_delete(checked(self.filter?)?),
            Change::Replace { document, lacks_id } => {
                let filter = checked(self.filter?)?;
                if self.upsert && lacks_id {
                    check_upsert_without_id(self.collection, &filter)?;
                }
                inner.find_one_and_replace(filter, &document?)
            }
        };
        array_filters.extend(self.array_filters);
        if !array_filters.is_empty() {
            action = action.array_filters(&array_filters);
        }
        if self.upsert {
            action = action.upsert(true);
        }
        pass_on!(self => action: hint collation max_time bypass_document_validation comment let_vars sort return_document);
        Ok(action)
    }

    fn run(self) -> impl Future<Output = Result<Option<D>>> + Send + use<'a, D> {
        let collection = self.collection;
        let sending = self.action().map(IntoFuture::into_future);
        async move {
            let found = sending?.await?;
            found.map(|raw| decode(collection.namespace(), &raw)).transpose()
        }
    }
}

awaitable!(['a, D: Model] FindOneAnd<'a, D> => Option<D>);
