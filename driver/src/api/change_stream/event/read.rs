//! Reads change events from the bytes of their documents.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, Visitor},
};

use super::{ChangeNamespace, ChangeStreamEvent, UpdateDescription};
use crate::{
    ResumeToken,
    bson::{
        DecodeError, Document,
        codec::{DOCUMENT_BYTES, END, Fields, Value},
        decode_document, from_slice_directly,
        serde_helpers::HumanReadable,
        to_vec,
    },
};

type Result<T> = std::result::Result<T, DecodeError>;

/// Reads the named fields of a document, each into a variable that is `None` if the field is missing or Null. Other fields
/// are ignored. The names are in the order of the server, in which [`Fields`] finds them fastest.
macro_rules! read_fields {
    ($document:expr; $($variable:ident: $name:literal = $read:expr;)*) => {
        #[expect(non_camel_case_types, reason = "the names of the variables")]
        enum Index { $($variable),* }
        $(let mut $variable = None;)*
        let mut fields = Fields::new($document.document()?, &[$($name),*]);
        loop {
            let index = fields.next();
            if index == END {
                break;
            }
            if fields.value().is_null() {
                continue;
            }
            $(if index == Index::$variable as usize {
                fields.read(&mut $variable, $read)?;
            } else)* {}
        }
        fields.end()?;
    };
}

/// A type that is read from the bytes of its document.
trait FromDocument: Sized {
    fn read(value: &Value<'_>) -> Result<Self>;

    /// Reads a value that was converted from a human-readable format.
    fn read_human_readable(value: &Value<'_>) -> Result<Self> {
        Self::read(value)
    }
}

impl<T: DeserializeOwned + 'static> FromDocument for ChangeStreamEvent<T> {
    fn read(value: &Value<'_>) -> Result<Self> {
        event(value, |document| {
            stored(document).map_err(|error| locate(value, document, error))
        })
    }

    fn read_human_readable(value: &Value<'_>) -> Result<Self> {
        event(value, |document| match document.deserialize() {
            Ok(HumanReadable(document)) => Ok(document),
            Err(error) => Err(locate(value, document, error)),
        })
    }
}

/// Adds the place of a document in its event to its error.
#[cold]
fn locate(event: &Value<'_>, document: &Value<'_>, error: DecodeError) -> DecodeError {
    let Ok(mut elements) = event.document() else {
        return error;
    };
    while let Ok(Some((key, value))) = elements.next_entry() {
        if std::ptr::eq(value.bytes(), document.bytes()) {
            return elements.locate(key, &value, error);
        }
    }
    error
}

/// Reads an event. Its documents are read by a function, whose errors are not changed.
#[inline]
pub(crate) fn event<'de, T, E: From<DecodeError>>(
    value: &Value<'de>,
    mut read: impl FnMut(&Value<'de>) -> std::result::Result<T, E>,
) -> std::result::Result<ChangeStreamEvent<T>, E> {
    read_fields! { value;
        id: "_id" = |value| value.raw().document().map(ResumeToken::from);
        operation: "operationType" = |value| value.raw().str().map(Into::into);
        cluster_time: "clusterTime" = |value| value.raw().timestamp();
        wall_time: "wallTime" = |value| value.raw().date_time();
        full_document: "fullDocument" = |value| Ok(*value);
        ns: "ns" = ChangeNamespace::read;
        document_key: "documentKey" = document;
        update_description: "updateDescription" = UpdateDescription::read;
        full_document_before_change: "fullDocumentBeforeChange" = |value| Ok(*value);
        split_event: "splitEvent" = Value::deserialize;
        lsid: "lsid" = document;
        txn_number: "txnNumber" = Value::deserialize;
        collection_uuid: "collectionUUID" = Value::deserialize;
        ns_type: "nsType" = Value::deserialize;
        operation_description: "operationDescription" = document;
        to: "to" = ChangeNamespace::read;
    }
    Ok(ChangeStreamEvent {
        id: id.ok_or_else(|| DecodeError::missing_field("_id"))?,
        operation: operation.unwrap_or_default(),
        ns,
        ns_type,
        to,
        document_key,
        full_document: full_document.as_ref().map(&mut read).transpose()?,
        full_document_before_change: full_document_before_change.as_ref().map(read).transpose()?,
        update_description,
        operation_description,
        cluster_time,
        wall_time,
        collection_uuid,
        lsid,
        txn_number,
        split_event,
    })
}

impl FromDocument for ChangeNamespace {
    fn read(value: &Value<'_>) -> Result<Self> {
        read_fields! { value;
            db: "db" = |value| value.raw().str().map(str::to_owned);
            coll: "coll" = |value| value.raw().str().map(str::to_owned);
        }
        Ok(Self {
            db: db.ok_or_else(|| DecodeError::missing_field("db"))?,
            coll,
        })
    }
}

impl FromDocument for UpdateDescription {
    fn read(value: &Value<'_>) -> Result<Self> {
        read_fields! { value;
            updated_fields: "updatedFields" = document;
            removed_fields: "removedFields" = Value::deserialize;
            truncated_arrays: "truncatedArrays" = Value::deserialize;
            disambiguated_paths: "disambiguatedPaths" = document;
        }
        Ok(Self {
            updated_fields: updated_fields.unwrap_or_default(),
            removed_fields: removed_fields.unwrap_or_default(),
            truncated_arrays: truncated_arrays.unwrap_or_default(),
            disambiguated_paths,
        })
    }
}

fn document(value: &Value<'_>) -> Result<Document> {
    decode_document(value.document_bytes()?)
}

/// Reads a document as a type of the application. A [`Document`] or a [`Bson`](crate::bson::Bson) is read as it is stored.
fn stored<T: DeserializeOwned + 'static>(value: &Value<'_>) -> Result<T> {
    if let Ok(bytes) = value.document_bytes()
        && let Some(document) = from_slice_directly(bytes)?
    {
        return Ok(document);
    }
    value.deserialize()
}

/// A type is read from its bytes in BSON. Other formats, and values that serde has buffered, are converted to BSON.
struct DocumentVisitor<T>(PhantomData<T>);

impl<'de, T: FromDocument> Visitor<'de> for DocumentVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> std::result::Result<T, E> {
        T::read(&Value::of_document(bytes)).map_err(DecodeError::into_serde)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<T, D::Error> {
        let is_human_readable = deserializer.is_human_readable();
        let document = Document::deserialize(deserializer)?;
        let bytes = to_vec(&document).map_err(D::Error::custom)?;
        let value = Value::of_document(&bytes);
        let read = if is_human_readable {
            T::read_human_readable(&value)
        } else {
            T::read(&value)
        };
        read.map_err(DecodeError::into_serde)
    }
}

fn deserialize<'de, T: FromDocument, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<T, D::Error> {
    deserializer.deserialize_newtype_struct(DOCUMENT_BYTES, DocumentVisitor(PhantomData))
}

impl<'de, T: DeserializeOwned + 'static> Deserialize<'de> for ChangeStreamEvent<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for ChangeNamespace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for UpdateDescription {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserialize(deserializer)
    }
}
