//! The position of a change stream.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bson::{RawDocument, RawDocumentBuf, decode_document};

/// The position of a change stream, from which another stream can continue.
///
/// A token is opaque: its content depends on the version of the server. It is serialized as the
/// document that the server sent, to BSON and to other formats, so that it can be stored as a field
/// of a model, in a collection or in a JSON file.
///
/// A token becomes invalid when the oplog no longer contains its event; the server then returns
/// error 286 ([`Error::is_change_stream_history_lost`](crate::Error::is_change_stream_history_lost)).
///
/// ```no_run
/// # use marula_driver::{Collection, Result, bson::{Document, doc}};
/// use marula_driver::ResumeToken;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Stored {
///     _id: String,
///     token: ResumeToken,
/// }
///
/// # async fn run(orders: Collection<Document>, tokens: Collection<Stored>) -> Result<()> {
/// let stored = tokens.find_one(doc! { "_id": "orders" }).await?;
/// let mut watch = orders.watch();
/// if let Some(stored) = stored {
///     watch = watch.start_after(stored.token);
/// }
/// let mut changes = watch.await?;
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResumeToken(RawDocumentBuf);

impl ResumeToken {
    /// The document that the server sent.
    #[must_use]
    pub fn as_document(&self) -> &RawDocument {
        &self.0
    }

    /// The token with these bytes. `None` if their length or the terminator is malformed.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        RawDocumentBuf::from_bytes(bytes.to_vec()).ok().map(Self)
    }
}

// Tokens are compared by their bytes.
impl Eq for ResumeToken {}

/// The token in a document that was stored without this type. The server checks it.
impl From<RawDocumentBuf> for ResumeToken {
    fn from(token: RawDocumentBuf) -> Self {
        Self(token)
    }
}

impl From<&RawDocument> for ResumeToken {
    fn from(token: &RawDocument) -> Self {
        Self(token.to_owned())
    }
}

impl From<&RawDocumentBuf> for ResumeToken {
    fn from(token: &RawDocumentBuf) -> Self {
        Self(token.clone())
    }
}

impl From<&ResumeToken> for ResumeToken {
    fn from(token: &ResumeToken) -> Self {
        token.clone()
    }
}

impl From<ResumeToken> for RawDocumentBuf {
    fn from(token: ResumeToken) -> Self {
        token.0
    }
}

impl fmt::Debug for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("ResumeToken");
        match decode_document(self.0.as_bytes()) {
            Ok(token) => debug.field(&format_args!("{token}")).finish(),
            Err(_) => debug.field(&self.0).finish(),
        }
    }
}
