//! Errors in the arguments of an action, which are returned when it is awaited.

use crate::{
    Error, Result,
    bson::{EncodeError, IntoDocument, RawDocumentBuf},
};

/// The first error in the arguments of an action: a value that cannot be serialized or is invalid.
///
/// In all methods `what` is the name of the argument, which the error message contains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferred(Option<Error>);

impl Deferred {
    /// The encoded document; an empty document if it cannot be serialized.
    pub(crate) fn document(&mut self, what: &'static str, document: impl IntoDocument) -> RawDocumentBuf {
        self.encoded(what, document.into_raw_document())
    }

    /// As [`document`](Self::document), for a value that the caller has encoded.
    pub(crate) fn encoded(
        &mut self,
        what: &'static str,
        document: Result<RawDocumentBuf, EncodeError>,
    ) -> RawDocumentBuf {
        document.unwrap_or_else(|error| {
            let error = Error::from(error.in_field(what));
            self.0.get_or_insert(error);
            RawDocumentBuf::new()
        })
    }

    /// As [`document`](Self::document), for several documents.
    pub(crate) fn documents<D: IntoDocument>(
        &mut self,
        what: &'static str,
        documents: impl IntoIterator<Item = D>,
    ) -> Vec<RawDocumentBuf> {
        documents.into_iter().map(|d| self.document(what, d)).collect()
    }

    /// Stores the error of the validation of an argument, unless an error is stored already.
    pub(crate) fn check(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.0.get_or_insert(error);
        }
    }

    /// The first error of both.
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }

    /// Returns the stored error and removes it.
    pub(crate) fn take_result(&mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }

    /// Returns the stored error.
    pub(crate) fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
