//! `insert_one` and `insert_many`.

use crate::bson::Bson;
use crate::collection::Collection;
use crate::collection::action::awaitable;
use crate::driver;
use crate::error::Result;
use crate::model::Model;
use crate::stored::Stored;

/// Inserts a document. Await it; see [`Collection::insert_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertOne<'a, D> {
    collection: driver::Collection<Stored<'a, D>>,
    document: Stored<'a, D>,
    comment: Option<Bson>,
    bypass: bool,
}

/// Inserts documents. Await it; see [`Collection::insert_many`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertMany<'a, D> {
    collection: driver::Collection<Stored<'a, D>>,
    documents: Vec<Stored<'a, D>>,
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
            collection: collection.inner.clone_with_type(),
            document: Stored::new(document),
            comment: None,
            bypass: false,
        }
    }

    setters!();

    async fn run(self) -> Result<()> {
        let mut action = self.collection.insert_one(&self.document);
        if self.bypass {
            action = action.bypass_document_validation(true);
        }
        if let Some(comment) = self.comment {
            action = action.comment(comment);
        }
        action.await?;
        Ok(())
    }
}

impl<'a, D: Model> InsertMany<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, documents: &'a [D]) -> Self {
        InsertMany {
            collection: collection.inner.clone_with_type(),
            documents: documents.iter().map(Stored::new).collect(),
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

    async fn run(self) -> Result<()> {
        let mut action = self.collection.insert_many(&self.documents).ordered(self.ordered);
        if self.bypass {
            action = action.bypass_document_validation(true);
        }
        if let Some(comment) = self.comment {
            action = action.comment(comment);
        }
        action.await?;
        Ok(())
    }
}

awaitable!(['a, D: Model] InsertOne<'a, D> => ());
awaitable!(['a, D: Model] InsertMany<'a, D> => ());
