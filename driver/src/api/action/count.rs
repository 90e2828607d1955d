//! `count_documents` and `estimated_document_count`.

use std::{borrow::Cow, time::Duration};

use serde::Deserialize;

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Result,
    api::{action::aggregate::Aggregate, collection::CollectionInner},
    bson::{Bson, Document, IntoDocument, RawDocumentBuf, doc},
    operation::count::{self, CountOptions},
    types::{collation::Collation, hint::Hint},
};

/// Counts exactly. Await it; see [`Collection::count_documents`](crate::Collection::count_documents).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CountDocuments<'a> {
    collection: &'a CollectionInner,
    filter: RawDocumentBuf,
    options: CountDocumentsOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

#[derive(Clone, Debug, Default)]
struct CountDocumentsOptions {
    raw_data: Option<bool>,
    skip: Option<u64>,
    limit: Option<u64>,
    hint: Option<Hint>,
    collation: Option<Collation>,
    comment: Option<Bson>,
    max_time: Option<Duration>,
    let_vars: Option<RawDocumentBuf>,
}

impl<'a> CountDocuments<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, filter: impl IntoDocument) -> Self {
        let mut deferred = Deferred::default();
        Self {
            collection,
            filter: deferred.document("filter", filter),
            options: CountDocumentsOptions::default(),
            deferred,
            session: None,
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// How many matching documents are left out of the count.
        skip: plain = u64;
        /// Stop counting here.
        limit: plain = u64;
        /// The index the server must use, by name or by keys.
        hint: value = Hint;
        /// How strings compare.
        collation: value = Collation;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
        /// How long the server may work on the operation; it then answers with code 50.
        /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
        max_time: plain = Duration;
        /// Variables for `$expr`, read as `$$name`.
        let_vars: document;
    }

    session_setter!();

    /// The specification counts by aggregation, since the `count` command can be wrong on sharded clusters.
    async fn run(self) -> Result<u64> {
        #[derive(Deserialize)]
        struct Counted {
            n: i64,
        }
        self.deferred.into_result()?;
        let mut pipeline = vec![crate::bson::rawdoc! { "$match": self.filter }];
        for (stage, value) in [("$skip", self.options.skip), ("$limit", self.options.limit)] {
            if let Some(value) = value {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                pipeline.push(stage_document(stage, value)?);
            }
        }
        pipeline.push((&doc! { "$group": { "_id": 1, "n": { "$sum": 1 } } }).into_raw_document()?);
        let mut aggregate = Aggregate::new(Cow::Borrowed(self.collection), false, pipeline)
            .with_type::<Counted>()
            .in_session(self.session);
        let options = self.options;
        if let Some(hint) = options.hint {
            aggregate = aggregate.hint(hint);
        }
        if let Some(raw_data) = options.raw_data {
            aggregate = aggregate.raw_data(raw_data);
        }
        if let Some(collation) = options.collation {
            aggregate = aggregate.collation(collation);
        }
        if let Some(comment) = options.comment {
            aggregate = aggregate.comment(comment);
        }
        if let Some(max_time) = options.max_time {
            aggregate = aggregate.max_time(max_time);
        }
        if let Some(variables) = options.let_vars {
            aggregate = aggregate.let_vars(variables);
        }
        let mut cursor = aggregate.await?;
        // No document matched, so there was no group.
        let counted = cursor.try_next().await?.map_or(0, |counted| counted.n);
        Ok(u64::try_from(counted).unwrap_or_default())
    }
}

fn stage_document(stage: &str, value: i64) -> Result<RawDocumentBuf> {
    let mut document = Document::new();
    document.insert(stage, value);
    Ok(document.into_raw_document()?)
}

/// Counts from metadata. Await it; see
/// [`Collection::estimated_document_count`](crate::Collection::estimated_document_count).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct EstimatedDocumentCount<'a> {
    collection: &'a CollectionInner,
    options: CountOptions,
    session: InSession<'a>,
}

impl<'a> EstimatedDocumentCount<'a> {
    pub(crate) fn new(collection: &'a CollectionInner) -> Self {
        Self {
            collection,
            options: CountOptions::default(),
            session: None,
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// How long the server may work on the operation; it then answers with code 50.
        /// Zero means no limit, even where the cluster has a default limit (`defaultMaxTimeMS`).
        max_time: plain = Duration;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
    }

    session_setter!();

    async fn run(self) -> Result<u64> {
        let mut operation = count::Count {
            scope: self.collection.read_scope(),
            options: &self.options,
        };
        self.collection
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

awaitable!(['a] CountDocuments<'a> => u64);
awaitable!(['a] EstimatedDocumentCount<'a> => u64);
