//! [`RawBatch`].

use serde::Deserialize;

use crate::{
    Result,
    bson::RawDocument,
    operation::{cursor::Batch, decode},
};

/// A batch of documents in the buffer that the driver received them in. Returned by
/// [`Cursor::next_batch`](crate::Cursor::next_batch).
#[derive(Debug)]
pub struct RawBatch(pub(super) Batch);

impl RawBatch {
    /// The documents, without copies. After an error the iterator may end early.
    ///
    /// # Errors
    /// [`InvalidReply`](crate::ErrorKind::InvalidReply) for an element that is not a document.
    pub fn documents(&self) -> impl Iterator<Item = Result<&RawDocument>> {
        self.0.documents()
    }

    /// The documents, deserialized as `D`, which may borrow strings and bytes from the batch.
    ///
    /// # Errors
    /// As [`documents`](Self::documents), and [`Decode`](crate::ErrorKind::Decode) for a document
    /// that cannot be deserialized as `D`; the iterator continues after it.
    pub fn deserialize<'a, D: Deserialize<'a>>(&'a self) -> impl Iterator<Item = Result<D>> {
        self.documents().map(|document| decode(document?.as_bytes()))
    }

    /// Whether the batch has no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
