//! `find_one_and_update`, `find_one_and_replace` and `find_one_and_delete`.

use std::{marker::PhantomData, time::Duration};

use serde::de::DeserializeOwned;

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Collection, Result,
    api::action::update::UpdateModification,
    bson::{Bson, IntoDocument, RawDocumentBuf},
    operation::{
        find_and_modify::{FindAndModify, FindAndModifyOptions},
        update::Modification,
    },
    types::{collation::Collation, hint::Hint, return_document::ReturnDocument},
};

/// Changes or deletes one document and returns it. Await it; see [`Collection::find_one_and_update`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct FindOneAnd<'a, T> {
    collection: &'a Collection<T>,
    filter: RawDocumentBuf,
    modification: Option<Modification>,
    options: FindAndModifyOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a, T: DeserializeOwned + 'static> FindOneAnd<'a, T> {
    pub(crate) fn new(
        collection: &'a Collection<T>,
        filter: impl IntoDocument,
        modification: Option<UpdateModification>,
    ) -> Self {
        let (modification, mut deferred) = match modification {
            Some(UpdateModification(modification, deferred)) => (Some(modification), deferred),
            None => (None, Deferred::default()),
        };
        Self {
            collection,
            filter: deferred.document("filter", filter),
            modification,
            options: FindAndModifyOptions::default(),
            deferred,
            session: None,
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// Insert a document when none matches. No effect on a delete.
        upsert: plain = bool;
        /// Which of several matching documents is taken.
        sort: document;
        /// Which fields are returned.
        projection: document;
        /// The index the server must use, by name or by keys.
        hint: boxed = Hint;
        /// How strings compare.
        collation: boxed = Collation;
        /// Variables for `$expr` and pipelines, read as `$$name`.
        let_vars: document;
        /// How long the server may work on the operation; it then answers with code 50.
        /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
        max_time: plain = Duration;
        /// Skip the collection's schema validation.
        bypass_document_validation: plain = bool;
        /// A note that shows up in the server's logs and profiler.
        comment: boxed = Bson;
    }

    /// Return the document as it was before the change (the default) or as it is after it. No effect on a delete.
    pub fn return_document(mut self, which: ReturnDocument) -> Self {
        self.options.return_document = which;
        self
    }

    /// Which array elements a `$[name]` in the update stands for.
    pub fn array_filters<D: IntoDocument>(mut self, filters: impl IntoIterator<Item = D>) -> Self {
        self.options.array_filters = Some(self.deferred.documents("array_filters", filters));
        self
    }

    session_setter!();

    async fn run(&mut self) -> Result<Option<T>> {
        self.deferred.take_result()?;
        if let Some(modification) = &self.modification {
            modification.validate()?;
        }
        let inner = self.collection.inner();
        let mut operation = FindAndModify {
            namespace: inner.namespace(),
            filter: &self.filter,
            modification: self.modification.as_ref(),
            options: &self.options,
            write_concern: inner.write_concern(),
            document: PhantomData,
        };
        inner.executor().run_in(self.session, &mut operation).await
    }
}

awaitable!(in place ['a, T: DeserializeOwned + Send + Sync + 'static] FindOneAnd<'a, T> => Option<T>);
