//! `insert_one` and `insert_many`.

use serde::Serialize;

use super::{InSession, awaitable, batcher::Batcher, session_setter, setters};
use crate::{
    Collection, Error, Result,
    bson::Bson,
    operation::{
        insert::{Documents, InsertOptions},
        write_command::{Statements, WriteCommand},
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
        let mut documents = Documents::single(self.document, &self.options);
        let mut command = WriteCommand::new(inner.namespace(), &mut documents, inner.write_concern());
        inner.executor().run_in(self.session, &mut command).await?;
        let (count, outcome) = command.into_outcome();
        outcome.into_single()?;
        Ok(InsertOneResult {
            inserted_id: documents.advance(count).pop().map_or(Bson::Null, |(_, id)| id),
        })
    }
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
        let mut batcher = Batcher::new(inner, inner.write_concern(), self.session, ordered);
        let mut documents = Documents::new(self.documents, &self.options);
        match batcher.send(&mut documents).await {
            Ok(_) => batcher.into_result().map(|done| InsertManyResult {
                inserted_ids: done.inserted_ids,
            }),
            // Without a command before it there is nothing to report beside the error.
            Err(error) if !batcher.has_run() => Err(error),
            Err(error) => Err(batcher.into_error(error)),
        }
    }
}

awaitable!(in place ['a, T: Serialize + Send + Sync + 'a] InsertOne<'a, T> => InsertOneResult);
awaitable!(in place ['a, T: Serialize + Send + Sync + 'a] InsertMany<'a, T> => InsertManyResult);
