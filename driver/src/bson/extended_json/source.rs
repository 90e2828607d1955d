//! The types that can be written as Extended JSON.

use super::printer::{Fault, Printer};
use super::{raw, tree};
use crate::bson::{Bson, Document, RawDocument, RawDocumentBuf, limits::MAX_DEPTH, raw_value::RawValue};

/// Arguments of [`ExtendedJson`](super::ExtendedJson): a reference to a [`Bson`], a [`Document`], a
/// [`RawDocument`] or a [`RawDocumentBuf`], or a [`RawValue`].
#[derive(Clone, Copy, Debug)]
pub struct JsonSource<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Value(&'a Bson),
    Document(&'a Document),
    RawDocument(&'a RawDocument),
    RawValue(RawValue<'a>),
}

impl JsonSource<'_> {
    /// Estimated length of the text, as initial capacity.
    pub(super) fn usual_len(&self) -> usize {
        const SHORT: usize = 64;
        match self.0 {
            Source::Value(_) | Source::Document(_) => SHORT,
            Source::RawDocument(raw) => SHORT + raw.as_bytes().len() * 3 / 2,
            Source::RawValue(raw) => SHORT + raw.bytes().len() * 3 / 2,
        }
    }

    pub(super) fn write(&self, printer: &mut Printer<'_>) -> Result<(), Fault> {
        match self.0 {
            Source::Value(value) => tree::write_value(printer, value, MAX_DEPTH),
            Source::Document(document) => tree::write_document(printer, document, MAX_DEPTH),
            Source::RawDocument(raw) => {
                raw::write_document(printer, raw.as_bytes(), MAX_DEPTH, raw.as_bytes())
            }
            Source::RawValue(raw) => raw::write_value(printer, raw, MAX_DEPTH, raw.bytes()),
        }
    }
}

impl<'a> From<&'a Bson> for JsonSource<'a> {
    fn from(value: &'a Bson) -> Self {
        Self(Source::Value(value))
    }
}

impl<'a> From<&'a Document> for JsonSource<'a> {
    fn from(document: &'a Document) -> Self {
        Self(Source::Document(document))
    }
}

impl<'a> From<&'a RawDocument> for JsonSource<'a> {
    fn from(raw: &'a RawDocument) -> Self {
        Self(Source::RawDocument(raw))
    }
}

impl<'a> From<&'a RawDocumentBuf> for JsonSource<'a> {
    fn from(raw: &'a RawDocumentBuf) -> Self {
        Self(Source::RawDocument(raw))
    }
}

impl<'a> From<RawValue<'a>> for JsonSource<'a> {
    fn from(raw: RawValue<'a>) -> Self {
        Self(Source::RawValue(raw))
    }
}
