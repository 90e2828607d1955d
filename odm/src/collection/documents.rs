//! A stream of models.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::bson::RawDocumentBuf;
use crate::collection::decode::decode;
use crate::driver::{Cursor, Namespace};
use crate::error::Result;
use crate::model::Model;

/// Documents as they come from the server, a batch at a time: a `Stream`, and [`try_next`](Documents::try_next) without
/// one. Dropped before its end it frees the cursor on the server in the background.
///
/// A document that does not decode is an error item; the next one can still be read.
#[must_use = "documents are fetched as they are read"]
pub struct Documents<D> {
    cursor: Cursor<RawDocumentBuf>,
    namespace: Namespace,
    document: PhantomData<fn() -> D>,
}

impl<D: Model> Documents<D> {
    pub(super) fn new(cursor: Cursor<RawDocumentBuf>, namespace: Namespace) -> Self {
        Documents {
            cursor,
            namespace,
            document: PhantomData,
        }
    }

    /// The next document, or `None` at the end. Decoded straight from the received bytes.
    ///
    /// # Errors
    /// What the driver reports, after which the stream has ended; a document that does not decode.
    pub async fn try_next(&mut self) -> Result<Option<D>> {
        if self.cursor.advance().await? {
            decode(&self.namespace, self.cursor.current()?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The next document if there is one now: from the batch at hand, or by one `getMore` at most. `None` at the end, and where
    /// the server sends an empty batch before it.
    ///
    /// # Errors
    /// As [`try_next`](Documents::try_next).
    pub async fn next_if_any(&mut self) -> Result<Option<D>> {
        if self.cursor.advance_if_any().await? {
            decode(&self.namespace, self.cursor.current()?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// All remaining documents.
    ///
    /// # Errors
    /// The first error.
    pub async fn try_collect(mut self) -> Result<Vec<D>> {
        let mut documents = Vec::new();
        while let Some(document) = self.try_next().await? {
            documents.push(document);
        }
        Ok(documents)
    }

    /// The driver's cursor, for the raw documents.
    pub fn into_cursor(self) -> Cursor<RawDocumentBuf> {
        self.cursor
    }
}

impl<D: Model> Stream for Documents<D> {
    type Item = Result<D>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.cursor).poll_next(context));
        Poll::Ready(next.map(|raw| decode(&self.namespace, &raw?)))
    }
}
