//! `insert_one` and `insert_many`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{InSession, awaitable, session_setter, setters};
use crate::{
    Collection, Error, ErrorKind, Result,
    bson::Bson,
    error::{BulkWriteError, WriteFailure},
    operation::{
        insert::{Insert, InsertOptions},
        write_result::{InsertManyResult, InsertOneResult},
    },
};

/// Inserts one document. Await it; see [`Collection::insert_one`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct InsertOne<'a, T> {
    collection: &'a Collection<T>,
    document: &'a T,
    options: InsertOptions,
    session: InSession<'a>,
}

/// Inserts many documents. Await it; see [`Collection::insert_many`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct InsertMany<'a, T> {
    collection: &'a Collection<T>,
    documents: &'a [T],
    options: InsertOptions,
    session: InSession<'a>,
}

macro_rules! common_setters {
    () => {
        setters! {
            /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
            #[doc(hidden)]
            raw_data: plain = bool;
            /// Skip the collection's schema validation.
            bypass_document_validation: plain = bool;
            /// A note that shows up in the server's logs and profiler.
            comment: boxed = Bson;
        }
    };
}

impl<'a, T: Serialize> InsertOne<'a, T> {
    pub(crate) fn new(collection: &'a Collection<T>, document: &'a T) -> Self {
        Self {
            collection,
            document,
            options: InsertOptions::default(),
            session: None,
        }
    }

    common_setters!();

    session_setter!();

    async fn run(&mut self) -> Result<InsertOneResult> {
        let inner = self.collection.inner();
        let mut operation = Insert {
            namespace: inner.namespace(),
            documents: std::slice::from_ref(self.document),
            offset: 0,
            is_single: true,
            options: &self.options,
            write_concern: inner.write_concern(),
            ids: Vec::with_capacity(1),
        };
        let batch = inner.executor().run_in(self.session, &mut operation).await?;
        if let (Some(failures), Some(error)) = (batch.failures, batch.error) {
            return Err(error.with_kind(single_failure(*failures)));
        }
        Ok(InsertOneResult {
            inserted_id: operation.ids.pop().map_or(Bson::Null, |(_, id)| id),
        })
    }
}

fn single_failure(mut failures: BulkWriteError) -> ErrorKind {
    ErrorKind::Write(WriteFailure {
        write_error: failures.write_errors.pop(),
        write_concern_error: failures.write_concern_error,
    })
}

impl<'a, T: Serialize> InsertMany<'a, T> {
    pub(crate) fn new(collection: &'a Collection<T>, documents: &'a [T]) -> Self {
        Self {
            collection,
            documents,
            options: InsertOptions::default(),
            session: None,
        }
    }

    setters! {
        /// Stop at the first document that fails (the default), or go on with the others.
        ordered: plain = bool;
    }
    common_setters!();

    session_setter!();

    async fn run(&mut self) -> Result<InsertManyResult> {
        if self.documents.is_empty() {
            return Err(Error::invalid_argument("insert_many needs at least one document"));
        }
        let inner = self.collection.inner();
        let ordered = self.options.ordered.unwrap_or(true);
        let operation_id = inner.executor().next_operation_id();
        let mut progress = Progress::default();
        while progress.offset < self.documents.len() {
            let mut operation = Insert {
                namespace: inner.namespace(),
                documents: self.documents,
                offset: progress.offset,
                is_single: false,
                options: &self.options,
                write_concern: inner.write_concern(),
                ids: Vec::new(),
            };
            let sent = inner
                .executor()
                .run_with_id(operation_id, self.session, &mut operation)
                .await;
            let batch = match sent {
                Ok(batch) => batch,
                // Nothing is known of this command, but what was inserted before it must not be lost.
                Err(error) if progress.is_untouched() => return Err(error),
                Err(error) => return Err(progress.into_error(error)),
            };
            let stop = progress.record(operation.ids, batch.failures, batch.error, ordered);
            if stop || batch.sent == 0 {
                break;
            }
        }
        progress.into_result()
    }
}

/// What the commands of one insert have done so far.
#[derive(Default)]
struct Progress {
    offset: usize,
    /// In order, made a map in the end: a map that grows in the middle of the work costs several times as much.
    inserted_ids: Vec<(usize, Bson)>,
    failures: Option<(BulkWriteError, Error)>,
}

impl Progress {
    fn is_untouched(&self) -> bool {
        self.offset == 0
    }

    /// Adds one command's outcome; true when the call must stop.
    fn record(
        &mut self,
        mut ids: Vec<(usize, Bson)>,
        failures: Option<Box<BulkWriteError>>,
        error: Option<Error>,
        ordered: bool,
    ) -> bool {
        let mut failed: Vec<usize> = failures
            .iter()
            .flat_map(|f| f.write_errors.iter().map(|e| e.index))
            .collect();
        failed.sort_unstable();
        let stopped_at = failed.first().copied().filter(|_| ordered);
        self.offset += ids.len();
        if !failed.is_empty() {
            ids.retain(|(index, _)| {
                stopped_at.is_none_or(|at| *index < at) && failed.binary_search(index).is_err()
            });
        }
        if self.inserted_ids.is_empty() {
            self.inserted_ids = ids;
        } else {
            self.inserted_ids.append(&mut ids);
        }
        if let (Some(failures), Some(error)) = (failures, error) {
            let (all, _) = self
                .failures
                .get_or_insert_with(|| (BulkWriteError::default(), error));
            all.write_errors.extend(failures.write_errors);
            if failures.write_concern_error.is_some() {
                all.write_concern_error = failures.write_concern_error;
            }
        }
        stopped_at.is_some()
    }

    fn into_result(mut self) -> Result<InsertManyResult> {
        match self.failures.take() {
            None => Ok(InsertManyResult {
                inserted_ids: BTreeMap::from_iter(self.inserted_ids),
            }),
            Some((mut failures, error)) => {
                failures.inserted_ids = BTreeMap::from_iter(self.inserted_ids);
                Err(error.with_kind(ErrorKind::BulkWrite(Box::new(failures))))
            }
        }
    }

    /// The error of a command that failed as a whole, with what the commands before it did.
    fn into_error(self, error: Error) -> Error {
        let (mut failures, _) = self
            .failures
            .unwrap_or_else(|| (BulkWriteError::default(), error.clone()));
        failures.inserted_ids = BTreeMap::from_iter(self.inserted_ids);
        failures.interrupted_by = Some(error.clone());
        error.with_kind(ErrorKind::BulkWrite(Box::new(failures)))
    }
}

awaitable!(in place ['a, T: Serialize + Send + Sync + 'a] InsertOne<'a, T> => InsertOneResult);
awaitable!(in place ['a, T: Serialize + Send + Sync + 'a] InsertMany<'a, T> => InsertManyResult);
