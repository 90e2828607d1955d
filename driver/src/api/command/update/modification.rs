//! The argument of updates: update operators, a pipeline, or a replacement.

use std::fmt;

use serde::Serialize;

use super::super::{Deferred, shown::FieldNames};
use crate::{
    Error, Result,
    bson::{Document, DocumentWriter, IntoDocument, RawDocument, RawDocumentBuf},
    proto::command::write_documents,
};

/// An update: update operators or an aggregation pipeline. Created with [`IntoUpdate`].
#[derive(Clone, Debug)]
pub struct UpdateModification(pub(crate) Modification, pub(crate) Deferred);

/// Conversion to an update: from a document of update operators ([`Document`], [`RawDocumentBuf`],
/// and references), or from a [`Vec`], an array or a slice with the stages of an aggregation pipeline.
///
/// ```
/// use marula_driver::{IntoUpdate, bson::doc};
/// let operators = doc! { "$inc": { "n": 1 } }.into_update();
/// let pipeline = [doc! { "$set": { "n": { "$add": ["$n", 1] } } }].into_update();
/// ```
pub trait IntoUpdate {
    /// Serializes the update. An error is returned when the action is awaited.
    fn into_update(self) -> UpdateModification;
}

fn operators(document: impl IntoDocument) -> UpdateModification {
    let mut deferred = Deferred::default();
    let document = deferred.document("update", document);
    UpdateModification(Modification::Operators(document), deferred)
}

macro_rules! operators_from {
    ($($type:ty),*) => {$(
        impl IntoUpdate for $type {
            fn into_update(self) -> UpdateModification {
                operators(self)
            }
        }
    )*};
}

operators_from!(Document, &Document, RawDocumentBuf, &RawDocumentBuf, &RawDocument);

fn pipeline(stages: impl IntoIterator<Item: IntoDocument>) -> UpdateModification {
    let mut deferred = Deferred::default();
    let stages = deferred.documents("update", stages);
    UpdateModification(Modification::Pipeline(stages), deferred)
}

impl<D: IntoDocument> IntoUpdate for Vec<D> {
    fn into_update(self) -> UpdateModification {
        pipeline(self)
    }
}

impl<D: IntoDocument, const N: usize> IntoUpdate for [D; N] {
    fn into_update(self) -> UpdateModification {
        pipeline(self)
    }
}

impl<'a, D> IntoUpdate for &'a [D]
where
    &'a D: IntoDocument,
{
    fn into_update(self) -> UpdateModification {
        pipeline(self)
    }
}

impl<'a, D, const N: usize> IntoUpdate for &'a [D; N]
where
    &'a D: IntoDocument,
{
    fn into_update(self) -> UpdateModification {
        pipeline(self)
    }
}

impl<'a, D> IntoUpdate for &'a Vec<D>
where
    &'a D: IntoDocument,
{
    fn into_update(self) -> UpdateModification {
        pipeline(self)
    }
}

/// A replacement document.
pub(in crate::api::command) fn replacement_of<T: Serialize>(replacement: &T) -> UpdateModification {
    let mut deferred = Deferred::default();
    let document = deferred.encoded("replacement", crate::bson::to_raw_document(replacement));
    UpdateModification(Modification::Replacement(document), deferred)
}

/// How an update modifies a document.
#[derive(Clone)]
pub(crate) enum Modification {
    /// A document of update operators.
    Operators(RawDocumentBuf),
    /// An aggregation pipeline.
    Pipeline(Vec<RawDocumentBuf>),
    /// A complete document.
    Replacement(RawDocumentBuf),
}

impl fmt::Debug for Modification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operators(update) => f.debug_tuple("Operators").field(&FieldNames(update)).finish(),
            Self::Pipeline(stages) => f.debug_struct("Pipeline").field("stages", &stages.len()).finish(),
            Self::Replacement(document) => f.debug_tuple("Replacement").field(&FieldNames(document)).finish(),
        }
    }
}

impl Modification {
    /// Checks the first key, by which the server distinguishes updates from replacements (CRUD,
    /// "Update vs. Replace Validation").
    pub(crate) fn validate(&self) -> Result<()> {
        let first = |document: &RawDocument| -> Result<Option<String>> {
            match document.iter().next() {
                None => Ok(None),
                Some(Ok((key, _))) => Ok(Some(key.as_str().to_owned())),
                Some(Err(e)) => Err(Error::invalid_argument(format!(
                    "the update is not valid BSON: {e}"
                ))),
            }
        };
        match self {
            Self::Operators(document) => match first(document)? {
                None => Err(Error::invalid_argument(
                    "an update requires at least one operator, such as $set",
                )),
                Some(key) if !key.starts_with('$') => Err(Error::invalid_argument(format!(
                    "an update must begin with an operator such as $set, found the field \"{key}\"; use replace_one to \
                     replace a whole document"
                ))),
                Some(_) => Ok(()),
            },
            Self::Pipeline(stages) if stages.is_empty() => Err(Error::invalid_argument(
                "an update pipeline requires at least one stage",
            )),
            Self::Pipeline(_) => Ok(()),
            Self::Replacement(document) => match first(document)? {
                Some(key) if key.starts_with('$') => Err(Error::invalid_argument(format!(
                    "a replacement cannot begin with the operator \"{key}\"; use update_one"
                ))),
                _ => Ok(()),
            },
        }
    }

    pub(crate) fn write(&self, writer: &mut DocumentWriter<'_>, key: &str) {
        match self {
            Self::Operators(document) | Self::Replacement(document) => writer.document(key, document),
            Self::Pipeline(stages) => write_documents(writer, key, stages.iter().map(|stage| &**stage)),
        }
    }
}
