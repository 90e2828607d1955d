//! `update_one`, `update_many` and `replace_one`.

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Result,
    api::collection::CollectionInner,
    bson::{Bson, Document, IntoDocument, RawDocument, RawDocumentBuf},
    operation::{
        update::{Modification, UpdateOptions, UpdateStatement},
        write_command::WriteCommand,
        write_result::UpdateResult,
    },
    types::{collation::Collation, hint::Hint},
};

/// An update in the form the server takes: operators or a pipeline.
#[derive(Clone, Debug)]
pub struct UpdateModification(pub(crate) Modification, pub(crate) Deferred);

/// What can be given as an update: a document of operators, or the stages of a pipeline.
///
/// ```
/// use marula_driver::{IntoUpdate, bson::doc};
/// let operators = doc! { "$inc": { "n": 1 } }.into_update();
/// let pipeline = vec![doc! { "$set": { "n": { "$add": ["$n", 1] } } }].into_update();
/// ```
pub trait IntoUpdate {
    /// Writes the update as BSON. An update that cannot be written is reported when the action is awaited.
    fn into_update(self) -> UpdateModification;
}

fn operators(document: impl IntoDocument) -> UpdateModification {
    let mut deferred = Deferred::default();
    let document = deferred.document("update", document);
    UpdateModification(Modification::Operators(document), deferred)
}

macro_rules! operators_from {
    ($($type:ty),*) => {$(
        impl IntoUpdate for $type {
            fn into_update(self) -> UpdateModification {
                operators(self)
            }
        }
    )*};
}

operators_from!(Document, &Document, RawDocumentBuf, &RawDocumentBuf, &RawDocument);

impl<D: IntoDocument> IntoUpdate for Vec<D> {
    fn into_update(self) -> UpdateModification {
        let mut deferred = Deferred::default();
        let stages = deferred.documents("update", self);
        UpdateModification(Modification::Pipeline(stages), deferred)
    }
}

/// Updates or replaces documents. Await it; see [`Collection::update_one`](crate::Collection::update_one).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct Update<'a> {
    collection: &'a CollectionInner,
    filter: RawDocumentBuf,
    modification: Modification,
    multi: bool,
    options: UpdateOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a> Update<'a> {
    pub(crate) fn new(
        collection: &'a CollectionInner,
        filter: impl IntoDocument,
        UpdateModification(modification, mut deferred): UpdateModification,
        multi: bool,
    ) -> Self {
        Self {
            collection,
            filter: deferred.document("filter", filter),
            modification,
            multi,
            options: UpdateOptions::default(),
            deferred,
            session: None,
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// Insert a document when none matches.
        upsert: plain = bool;
        /// The index the server must use, by name or by keys.
        hint: boxed = Hint;
        /// How strings compare.
        collation: boxed = Collation;
        /// Which of several matching documents an `update_one` or `replace_one` changes (server 8.0).
        sort: document;
        /// Variables for `$expr` and pipelines, read as `$$name`.
        let_vars: document;
        /// Skip the collection's schema validation.
        bypass_document_validation: plain = bool;
        /// A note that shows up in the server's logs and profiler.
        comment: boxed = Bson;
    }

    /// Which array elements a `$[name]` in the update stands for.
    pub fn array_filters<D: IntoDocument>(mut self, filters: impl IntoIterator<Item = D>) -> Self {
        self.options.array_filters = Some(self.deferred.documents("array_filters", filters));
        self
    }

    session_setter!();

    async fn run(&mut self) -> Result<UpdateResult> {
        self.deferred.take_result()?;
        self.modification.validate()?;
        let mut statement = UpdateStatement {
            filter: &self.filter,
            modification: &self.modification,
            multi: self.multi,
            options: &self.options,
        };
        let inner = self.collection;
        let mut command = WriteCommand::new(inner.namespace(), &mut statement, inner.write_concern());
        inner.executor().run_in(self.session, &mut command).await?;
        let (_, outcome) = command.into_outcome();
        let mut outcome = outcome.into_single()?;
        let upserted_id = outcome.upserted.pop().map(|(_, id)| id);
        Ok(UpdateResult {
            // An upsert counts as matched in the reply's `n`, but matched nothing.
            matched_count: if upserted_id.is_some() { 0 } else { outcome.n },
            modified_count: outcome.n_modified,
            upserted_id,
        })
    }
}

awaitable!(in place ['a] Update<'a> => UpdateResult);
