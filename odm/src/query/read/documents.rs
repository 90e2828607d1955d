//! A stream of models.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::{
    base::{
        bson::{RawDocument, RawDocumentBuf},
        error::Result,
    },
    document::decode::ReadAs,
    driver::{Cursor, Namespace},
    path::field::Field,
    query::observe::Call,
    values::codec::DecodeOwned,
};

/// The documents of a cursor: a [`Stream`], also readable by [`try_next`](Documents::try_next).
/// Created by [`Find::stream`](crate::collection::Find::stream).
///
/// Batches are requested as they are read. If the value is dropped before its end, the cursor on
/// the server is killed in the background. A document that cannot be decoded is an error item,
/// after which further documents can be read.
#[must_use = "documents are fetched as they are read"]
pub struct Documents<D> {
    cursor: Cursor<RawDocumentBuf>,
    namespace: Namespace,
    read_as: ReadAs<D>,
    call: Call,
}

impl<D: Field + DecodeOwned> Documents<D> {
    /// A function that reads a cursor as the documents of a call.
    pub(crate) fn of(
        namespace: Namespace,
        read_as: ReadAs<D>,
        call: Call,
    ) -> impl FnOnce(Cursor<RawDocumentBuf>) -> Self {
        move |cursor| Documents {
            cursor,
            namespace,
            read_as,
            call,
        }
    }

    /// The next document, or `None` at the end. Decoded from the received bytes without a copy.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut all = orders.find_all().stream().await?;
    /// while let Some(order) = all.try_next().await? {
    ///     println!("{}", order.id);
    /// }
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// If the future is dropped while a `getMore` is running, the batch is lost, and the next call
    /// returns an error. To cancel a read without losing documents, read the [`Stream`].
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) for errors of the driver, which end the stream;
    /// [`Error::Decode`](crate::Error::Decode) for a document that cannot be decoded.
    pub async fn try_next(&mut self) -> Result<Option<D>> {
        if self.call.within(self.cursor.advance()).await? {
            self.read_as
                .decode(&self.namespace, self.cursor.current()?)
                .map(Some)
        } else {
            Ok(None)
        }
    }

    /// The next document, and its bytes.
    pub(crate) async fn try_next_with_raw(&mut self) -> Result<Option<(D, &RawDocument)>> {
        if self.call.within(self.cursor.advance()).await? {
            let raw = self.cursor.current()?;
            Ok(Some((self.read_as.decode(&self.namespace, raw)?, raw)))
        } else {
            Ok(None)
        }
    }

    /// The next document of the current batch, or of the batch of one `getMore`. `None` at the end,
    /// and if that batch is empty, so that a call sends at most one command.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut all = orders.find_all().batch_size(2).stream().await?;
    /// assert!(all.next_if_any().await?.is_some());
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// As [`try_next`](Documents::try_next).
    ///
    /// # Errors
    /// Those of [`try_next`](Documents::try_next).
    pub async fn next_if_any(&mut self) -> Result<Option<D>> {
        if self.call.within(self.cursor.advance_if_any()).await? {
            self.read_as
                .decode(&self.namespace, self.cursor.current()?)
                .map(Some)
        } else {
            Ok(None)
        }
    }

    /// All remaining documents, in memory at the same time.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let rest: Vec<Order> = orders.find_all().stream().await?.try_collect().await?;
    /// assert_eq!(rest.len(), 3);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The first error of [`try_next`](Documents::try_next).
    pub async fn try_collect(mut self) -> Result<Vec<D>> {
        let mut documents = Vec::new();
        while let Some(document) = self.try_next().await? {
            documents.push(document);
        }
        Ok(documents)
    }

    /// The driver's cursor, which returns the raw documents.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let mut cursor = orders.find_all().stream().await?.into_cursor();
    /// assert!(cursor.advance().await?);
    /// # Ok(()) });
    /// ```
    pub fn into_cursor(self) -> Cursor<RawDocumentBuf> {
        self.cursor
    }
}

impl<D: Field + DecodeOwned> Stream for Documents<D> {
    type Item = Result<D>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let next = ready!(this.call.enter(|| Pin::new(&mut this.cursor).poll_next(context)));
        Poll::Ready(next.map(|raw| self.read_as.decode(&self.namespace, &raw?)))
    }
}
