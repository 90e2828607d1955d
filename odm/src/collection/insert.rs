//! `insert_one` and `insert_many`.

use serde::Serialize;

use crate::bson::{Bson, RawDocumentBuf};
use crate::collection::Collection;
use crate::collection::action::awaitable;
use crate::collection::write::{with_id, with_new_id};
use crate::driver::{self, InsertManyResult, InsertOneResult};
use crate::error::Result;
use crate::model::Model;
use crate::stored::Stored;

/// Inserts a document. Await it; see [`Collection::insert_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertOne<'a, D> {
    collection: &'a Collection<D>,
    document: &'a D,
    comment: Option<Bson>,
    bypass: bool,
}

/// Inserts documents. Await it; see [`Collection::insert_many`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertMany<'a, D> {
    collection: &'a Collection<D>,
    documents: &'a [D],
    comment: Option<Bson>,
    bypass: bool,
    ordered: bool,
}

macro_rules! setters {
    () => {
        /// Skip the collection's schema validation.
        pub fn bypass_document_validation(mut self, yes: bool) -> Self {
            self.bypass = yes;
            self
        }

        /// A note that shows up in the server's logs and profiler.
        pub fn comment(mut self, comment: impl Into<Bson>) -> Self {
            self.comment = Some(comment.into());
            self
        }
    };
}

impl<'a, D: Model> InsertOne<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, document: &'a D) -> Self {
        InsertOne {
            collection,
            document,
            comment: None,
            bypass: false,
        }
    }

    setters!();

    async fn run(self) -> Result<InsertOneResult> {
        if self.document.lacks_id() {
            // A case apart, which the future of all inserts need not have the size of.
            return Box::pin(async move {
                let document = with_new_id(self.collection, self.document)?;
                self.send(&self.collection.inner, &document).await
            })
            .await;
        }
        self.send(
            &self.collection.inner.clone_with_type(),
            &Stored::new(self.document),
        )
        .await
    }

    fn send<'s, T: Serialize + Send + Sync + 's>(
        &'s self,
        collection: &'s driver::Collection<T>,
        document: &'s T,
    ) -> impl Future<Output = Result<InsertOneResult>> + Send {
        let mut action = collection.insert_one(document);
        if self.bypass {
            action = action.bypass_document_validation(true);
        }
        if let Some(comment) = &self.comment {
            action = action.comment(comment.clone());
        }
        let sending = action.into_future();
        async move { Ok(sending.await?) }
    }
}

impl<'a, D: Model> InsertMany<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, documents: &'a [D]) -> Self {
        InsertMany {
            collection,
            documents,
            comment: None,
            bypass: false,
            ordered: true,
        }
    }

    setters!();

    /// Whether to stop at the first document that fails. Default: yes.
    pub fn ordered(mut self, yes: bool) -> Self {
        self.ordered = yes;
        self
    }

    async fn run(self) -> Result<InsertManyResult> {
        if self.documents.iter().any(Model::lacks_id) {
            // A case apart, which the future of all inserts need not have the size of.
            return Box::pin(async move {
                let documents: Vec<RawDocumentBuf> = self
                    .documents
                    .iter()
                    .map(|document| with_id(self.collection, document))
                    .collect::<Result<_>>()?;
                self.send(&self.collection.inner, &documents).await
            })
            .await;
        }
        let documents: Vec<Stored<'a, D>> = self.documents.iter().map(Stored::new).collect();
        self.send(&self.collection.inner.clone_with_type(), &documents)
            .await
    }

    fn send<'s, T: Serialize + Send + Sync + 's>(
        &'s self,
        collection: &'s driver::Collection<T>,
        documents: &'s [T],
    ) -> impl Future<Output = Result<InsertManyResult>> + Send {
        let mut action = collection.insert_many(documents).ordered(self.ordered);
        if self.bypass {
            action = action.bypass_document_validation(true);
        }
        if let Some(comment) = &self.comment {
            action = action.comment(comment.clone());
        }
        let sending = action.into_future();
        async move { Ok(sending.await?) }
    }
}

awaitable!(['a, D: Model] InsertOne<'a, D> => InsertOneResult);
awaitable!(['a, D: Model] InsertMany<'a, D> => InsertManyResult);
