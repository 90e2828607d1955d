//! Decodes models. The errors contain the collection, the `_id` and the path of the field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::{
    base::{
        bson::{
            Bson, DecodeError, RawDocument, RawDocumentBuf,
            codec::{DOCUMENT_BYTES, Value},
        },
        error::{Error, Result},
    },
    driver::Namespace,
    form::schema_version::{Outdated, SchemaVersion, WithoutField},
    models::model::Model,
    path::field::Field,
    values::codec::{DecodeOwned, from_bson, from_slice},
};

/// Decodes a document of the present version, or of any version that can be upgraded to it. The error
/// contains the collection, the `_id` and the path of the field.
#[inline]
fn decode<T: Field + DecodeOwned>(
    namespace: &Namespace,
    raw: &RawDocument,
    without_field: WithoutField,
) -> Result<T> {
    let failed = |error| Undecoded::new(raw, error).in_collection(namespace);
    let Some(version) = T::schema_version() else {
        return match from_slice(raw.as_bytes()) {
            Ok(found) => Ok(found),
            Err(error) => Err(failed(Failure::from(error))),
        };
    };
    decode_version(version, raw, without_field).map_err(failed)
}

/// Decodes a document of a model whose documents have a version.
#[inline(never)]
fn decode_version<T: Field + DecodeOwned>(
    version: SchemaVersion,
    raw: &RawDocument,
    without_field: WithoutField,
) -> std::result::Result<T, Failure> {
    let failed = |outdated| Failure::Outdated { version, outdated };
    match version.upgraded(raw, without_field).map_err(failed)? {
        None => Ok(from_slice(raw.as_bytes())?),
        Some(upgraded) => Ok(from_slice(upgraded.as_bytes())?),
    }
}

/// A document of an older version in its present form, which can be decoded as the model.
///
/// # Errors
/// Those of reading the document.
pub(crate) fn upgraded<D: Model>(
    namespace: &Namespace,
    raw: &RawDocument,
    version: SchemaVersion,
) -> Result<RawDocumentBuf> {
    let upgraded = match version.upgraded(raw, WithoutField::Old) {
        Ok(Some(upgraded)) => from_slice::<D>(upgraded.as_bytes())
            .map(|_| upgraded)
            .map_err(Failure::from),
        Ok(None) => Ok(raw.to_owned()),
        Err(outdated) => Err(Failure::Outdated { version, outdated }),
    };
    upgraded.map_err(|error| Undecoded::new(raw, error).in_collection(namespace))
}

/// Decodes a value at a path.
pub(crate) fn value_at<T: Field + DecodeOwned + 'static>(
    namespace: &Namespace,
    id: Option<Bson>,
    path: &str,
    value: &Bson,
) -> Result<T> {
    from_bson(value).map_err(|source| Error::Decode {
        collection: namespace.to_string(),
        id: id.map(Box::new),
        path: match source.path() {
            "" => path.to_owned(),
            inner if inner.starts_with('[') => format!("{path}{inner}"),
            inner => format!("{path}.{inner}"),
        },
        source,
    })
}

/// The type in which documents are read: a model, whose hook runs after a document was decoded, or
/// another type.
///
/// The hook takes a reference, so that a document is not moved once more for it.
pub(crate) struct ReadAs<T> {
    hook: Option<fn(&mut T) -> Result<()>>,
    without_field: WithoutField,
}

impl<T> Clone for ReadAs<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ReadAs<T> {}

impl<D: Model> ReadAs<D> {
    /// Documents of the collection.
    pub(crate) fn model() -> Self {
        ReadAs {
            hook: Some(loaded),
            without_field: WithoutField::Old,
        }
    }
}

impl<T: Field + DecodeOwned> ReadAs<T> {
    /// A projection.
    pub(crate) fn value() -> Self {
        ReadAs {
            hook: None,
            without_field: WithoutField::Old,
        }
    }

    /// The result of a pipeline.
    pub(crate) fn result() -> Self {
        ReadAs {
            hook: None,
            without_field: WithoutField::Present,
        }
    }

    /// Decodes a document.
    #[inline]
    pub(crate) fn decode(self, namespace: &Namespace, raw: &RawDocument) -> Result<T> {
        // The hook gets the document where it is returned, so that it is not copied.
        let mut decoded = decode(namespace, raw, self.without_field);
        if let (Some(hook), Ok(document)) = (self.hook, &mut decoded) {
            hook(document)?;
        }
        decoded
    }

    /// A document in its present form, which can be decoded.
    pub(crate) fn present(self, namespace: &Namespace, raw: RawDocumentBuf) -> Result<RawDocumentBuf> {
        let Some(version) = T::schema_version() else {
            return Ok(raw);
        };
        match version.upgraded(&raw, self.without_field) {
            Ok(upgraded) => Ok(upgraded.unwrap_or(raw)),
            Err(outdated) => {
                let failure = Failure::Outdated { version, outdated };
                Err(Undecoded::new(&raw, failure).in_collection(namespace))
            }
        }
    }

    /// Runs the hook of a document that was decoded.
    #[inline]
    fn loaded(self, mut document: T) -> Result<T> {
        if let Some(hook) = self.hook {
            hook(&mut document)?;
        }
        Ok(document)
    }
}

/// Runs the hook of a document that was read.
fn loaded<D: Model>(document: &mut D) -> Result<()> {
    document
        .after_load()
        .map_err(|error| Error::hook(D::NAME, "after_load", error))
}

/// A document that the driver decodes directly from the reply; [`decode`] would need a copy of the
/// document. A decode error is kept as a value, since it is not an error of the driver.
pub(crate) struct Found<D>(std::result::Result<D, Box<Undecoded>>);

/// A decode error, with the `_id` of the document.
pub(crate) struct Undecoded {
    id: Option<Box<Bson>>,
    error: Failure,
}

/// Why a document cannot be decoded.
enum Failure {
    /// It does not have the form of its type.
    Form(DecodeError),
    /// It cannot be upgraded to the present version.
    Outdated {
        version: SchemaVersion,
        outdated: Outdated,
    },
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Failure::Form(error)
    }
}

impl<'de, D: Field + DecodeOwned> Deserialize<'de> for Found<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> std::result::Result<Self, S::Error> {
        deserializer.deserialize_newtype_struct(DOCUMENT_BYTES, FromBytes(PhantomData))
    }
}

/// Decodes a model from the bytes of its document.
struct FromBytes<D>(PhantomData<fn() -> D>);

impl<'de, D: Field + DecodeOwned> Visitor<'de> for FromBytes<D> {
    type Value = Found<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    #[inline]
    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> std::result::Result<Found<D>, E> {
        Ok(Found::of_bytes(bytes))
    }
}

/// As [`decode_version`], from bytes.
fn versioned<D: Field + DecodeOwned>(
    version: SchemaVersion,
    bytes: &[u8],
) -> std::result::Result<D, Failure> {
    match RawDocument::from_bytes(bytes) {
        Ok(raw) => decode_version(version, raw, WithoutField::Old),
        // The decoder reports what is malformed.
        Err(_) => Ok(from_slice(bytes)?),
    }
}

#[cold]
fn undecoded(bytes: &[u8], error: Failure) -> Box<Undecoded> {
    Box::new(match RawDocument::from_bytes(bytes) {
        Ok(raw) => Undecoded::new(raw, error),
        Err(_) => Undecoded { id: None, error },
    })
}

impl<T: Field + DecodeOwned> Found<T> {
    /// Decodes a value, which should be a document.
    #[inline]
    pub(crate) fn of(value: &Value<'_>) -> Self {
        match value.document_bytes() {
            Ok(bytes) => Self::of_bytes(bytes),
            Err(error) => Found(Err(undecoded(&[], Failure::from(error)))),
        }
    }

    #[inline]
    fn of_bytes(bytes: &[u8]) -> Self {
        let decoded = match T::schema_version() {
            None => from_slice(bytes).map_err(Failure::from),
            Some(version) => versioned(version, bytes),
        };
        Found(decoded.map_err(|error| undecoded(bytes, error)))
    }

    /// Moves the document to its place, where its hook runs. The error is that of [`into_result`](Self::into_result).
    pub(crate) fn into_place(
        self,
        place: &mut Option<T>,
        namespace: &Namespace,
        read_as: ReadAs<T>,
    ) -> Result<()> {
        match self.0 {
            Ok(document) => {
                let document = place.insert(document);
                read_as.hook.map_or(Ok(()), |hook| hook(document))
            }
            Err(undecoded) => Err(undecoded.in_collection(namespace)),
        }
    }

    /// The document. The error contains the collection and the `_id`.
    pub(crate) fn into_result(self, namespace: &Namespace, read_as: ReadAs<T>) -> Result<T> {
        let document = self.0.map_err(|undecoded| undecoded.in_collection(namespace))?;
        read_as.loaded(document)
    }
}

impl Undecoded {
    #[cold]
    fn new(raw: &RawDocument, error: Failure) -> Self {
        let id = raw.get("_id").ok().flatten();
        Self {
            id: id.and_then(|id| Bson::try_from(id).ok()).map(Box::new),
            error,
        }
    }

    fn in_collection(self, namespace: &Namespace) -> Error {
        let (collection, id) = (namespace.to_string(), self.id);
        match self.error {
            Failure::Form(source)
            | Failure::Outdated {
                outdated: Outdated::Invalid(source),
                ..
            } => Error::Decode {
                collection,
                id,
                path: source.path().to_owned(),
                source,
            },
            Failure::Outdated {
                version,
                outdated: Outdated::Newer { stored },
            } => Error::NewerSchema {
                model: version.model,
                collection,
                id,
                stored,
                supported: version.version,
            },
            Failure::Outdated {
                version,
                outdated: Outdated::Upgrade { from, source },
            } => Error::Upgrade {
                model: version.model,
                collection,
                id,
                from,
                source: source.into(),
            },
        }
    }
}

/// The value at a path through embedded documents.
pub(crate) fn lookup(document: &RawDocument, path: &str) -> Option<Bson> {
    match path.split_once('.') {
        None => document
            .get(path)
            .ok()
            .flatten()
            .and_then(|v| Bson::try_from(v).ok()),
        Some((first, rest)) => lookup(document.get_document(first).ok()?, rest),
    }
}
