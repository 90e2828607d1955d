//! Reads change events from the bytes of their documents.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, Visitor},
};

use super::{ChangeNamespace, ChangeOperation, ChangeStreamEvent, SplitEvent, UpdateDescription};
use crate::{
    ResumeToken,
    bson::{
        DateTime, DecodeError, Document, Timestamp, Uuid,
        codec::{DOCUMENT_BYTES, END, Fields, Value},
        decode_document, from_slice_directly,
        serde_helpers::HumanReadable,
        to_vec,
    },
};

type Result<T> = std::result::Result<T, DecodeError>;

/// Reads the named fields of a document, each into a place that is `None` if the field is missing or Null. Other fields
/// are ignored. The names are in the order of the server, in which [`Fields`] finds them fastest.
macro_rules! read_fields {
    ($document:expr; $($index:ident: $name:literal to $place:expr, $read:expr;)*) => {
        #[expect(non_camel_case_types, reason = "the names of the fields")]
        enum Index { $($index),* }
        let mut fields = Fields::new($document.document()?, &[$($name),*]);
        loop {
            let index = fields.next();
            if index == END {
                break;
            }
            if fields.value().is_null() {
                continue;
            }
            $(if index == Index::$index as usize {
                fields.read(&mut $place, $read)?;
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
        whole(value, stored)
    }

    fn read_human_readable(value: &Value<'_>) -> Result<Self> {
        whole(value, |document| {
            document.deserialize().map(|HumanReadable(document)| document)
        })
    }
}

/// Reads an event with documents that are read by a function.
fn whole<T>(
    value: &Value<'_>,
    mut read: impl FnMut(&Value<'_>) -> Result<T>,
) -> Result<ChangeStreamEvent<T>> {
    let read_to = |document: &Value<'_>, place: &mut Option<T>| {
        *place = Some(read(document).map_err(|error| locate(value, document, error))?);
        Ok::<_, DecodeError>(())
    };
    event(value, read_to, |event| event)
}

/// Adds the place of a field in its event to its error.
#[cold]
fn locate(event: &Value<'_>, field: &Value<'_>, error: DecodeError) -> DecodeError {
    let Ok(mut elements) = event.document() else {
        return error;
    };
    while let Ok(Some((key, value))) = elements.next_entry() {
        if std::ptr::eq(value.bytes(), field.bytes()) {
            return elements.locate(key, &value, error);
        }
    }
    error
}

/// The fields of an event. Those that are documents have not been read.
#[derive(Default)]
struct Parts<'de> {
    id: Option<ResumeToken>,
    operation: Option<ChangeOperation>,
    cluster_time: Option<Timestamp>,
    wall_time: Option<DateTime>,
    split_event: Option<SplitEvent>,
    txn_number: Option<i64>,
    collection_uuid: Option<Uuid>,
    ns_type: Option<String>,
    documents: Documents<'de>,
}

/// The documents in an event.
#[derive(Clone, Copy, Default)]
struct Documents<'de> {
    ns: Option<&'de [u8]>,
    to: Option<&'de [u8]>,
    key: Option<&'de [u8]>,
    full: Option<Value<'de>>,
    full_before_change: Option<Value<'de>>,
    update: Option<&'de [u8]>,
    operation: Option<&'de [u8]>,
    lsid: Option<&'de [u8]>,
}

impl<'de> Parts<'de> {
    /// Finds the fields. They are written to their places, which costs less than to return them.
    #[inline(never)]
    fn find(&mut self, event: &Value<'de>) -> Result<()> {
        let documents = &mut self.documents;
        read_fields! { event;
            id: "_id" to self.id, token;
            operation: "operationType" to self.operation, |value| value.raw().str().map(Into::into);
            cluster_time: "clusterTime" to self.cluster_time, |value| value.raw().timestamp();
            wall_time: "wallTime" to self.wall_time, |value| value.raw().date_time();
            full: "fullDocument" to documents.full, |value| Ok(*value);
            ns: "ns" to documents.ns, Value::document_bytes;
            key: "documentKey" to documents.key, Value::document_bytes;
            update: "updateDescription" to documents.update, Value::document_bytes;
            before: "fullDocumentBeforeChange" to documents.full_before_change, |value| Ok(*value);
            split_event: "splitEvent" to self.split_event, Value::deserialize;
            lsid: "lsid" to documents.lsid, Value::document_bytes;
            txn_number: "txnNumber" to self.txn_number, Value::deserialize;
            collection_uuid: "collectionUUID" to self.collection_uuid, Value::deserialize;
            ns_type: "nsType" to self.ns_type, Value::deserialize;
            description: "operationDescription" to documents.operation, Value::document_bytes;
            to: "to" to documents.to, Value::document_bytes;
        }
        Ok(())
    }
}

impl<'de> Documents<'de> {
    /// Whether there are documents that the events of inserted and deleted documents do not have.
    #[inline]
    fn has_more(&self) -> bool {
        self.update.is_some()
            || self.full_before_change.is_some()
            || self.lsid.is_some()
            || self.operation.is_some()
            || self.to.is_some()
    }

    /// Reads these documents.
    #[inline(never)]
    fn add<T, E: From<DecodeError>>(
        &self,
        event: &mut ChangeStreamEvent<T>,
        value: &Value<'de>,
        read: &mut impl FnMut(&Value<'de>, &mut Option<T>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        read_part(value, self.to, &mut event.to, ChangeNamespace::read)?;
        let update = &mut event.update_description;
        read_part(value, self.update, update, UpdateDescription::read)?;
        read_part(value, self.operation, &mut event.operation_description, document)?;
        read_part(value, self.lsid, &mut event.lsid, document)?;
        if let Some(document) = &self.full_before_change {
            read(document, &mut event.full_document_before_change)?;
        }
        Ok(())
    }
}

/// Reads an event. Its documents are read by the function `read` to the places that it is given.
///
/// An event has more than 1,000 bytes. It is therefore not moved, but written where `done` returns it; and large fields that
/// most events do not have are added only if they are there, because their places would be copied otherwise.
#[inline]
pub(crate) fn event<'de, T, E: From<DecodeError>, R>(
    value: &Value<'de>,
    mut read: impl FnMut(&Value<'de>, &mut Option<T>) -> std::result::Result<(), E>,
    done: impl Fn(std::result::Result<ChangeStreamEvent<T>, E>) -> R,
) -> R {
    let mut parts = Parts::default();
    if let Err(error) = parts.find(value) {
        return done(Err(error.into()));
    }
    let documents = &parts.documents;
    let (mut ns, mut document_key, mut full_document) = (None, None, None);
    let mut read_documents = || -> std::result::Result<(), E> {
        read_part(value, documents.ns, &mut ns, ChangeNamespace::read)?;
        read_part(value, documents.key, &mut document_key, document)?;
        match &documents.full {
            Some(document) => read(document, &mut full_document),
            None => Ok(()),
        }
    };
    let Some(id) = parts.id else {
        return done(Err(DecodeError::missing_field("_id").into()));
    };
    if let Err(error) = read_documents() {
        return done(Err(error));
    }
    let event = ChangeStreamEvent {
        id,
        operation: parts.operation.unwrap_or_default(),
        ns,
        ns_type: parts.ns_type,
        to: None,
        document_key,
        full_document,
        full_document_before_change: None,
        update_description: None,
        operation_description: None,
        cluster_time: parts.cluster_time,
        wall_time: parts.wall_time,
        collection_uuid: parts.collection_uuid,
        lsid: None,
        txn_number: parts.txn_number,
        split_event: parts.split_event,
    };
    if !documents.has_more() {
        return done(Ok(event));
    }
    let mut event = event;
    match documents.add(&mut event, value, &mut read) {
        Ok(()) => done(Ok(event)),
        Err(error) => done(Err(error)),
    }
}

/// Reads a document that was found in an event.
#[inline]
fn read_part<'de, T>(
    event: &Value<'de>,
    bytes: Option<&'de [u8]>,
    place: &mut Option<T>,
    read: fn(&Value<'de>) -> Result<T>,
) -> Result<()> {
    if let Some(bytes) = bytes {
        let value = Value::of_document(bytes);
        *place = Some(read(&value).map_err(|error| locate(event, &value, error))?);
    }
    Ok(())
}

impl FromDocument for ChangeNamespace {
    fn read(value: &Value<'_>) -> Result<Self> {
        let (mut db, mut coll) = (None, None);
        read_fields! { value;
            db: "db" to db, |value| value.raw().str();
            coll: "coll" to coll, |value| value.raw().str();
        }
        let db = db.ok_or_else(|| DecodeError::missing_field("db"))?;
        Ok(Self {
            db: db.to_owned(),
            coll: coll.map(str::to_owned),
        })
    }
}

impl FromDocument for UpdateDescription {
    fn read(value: &Value<'_>) -> Result<Self> {
        let (mut updated_fields, mut disambiguated_paths) = (None, None);
        let (mut removed_fields, mut truncated_arrays) = (None, None);
        read_fields! { value;
            updated: "updatedFields" to updated_fields, document;
            removed: "removedFields" to removed_fields, Value::deserialize;
            truncated: "truncatedArrays" to truncated_arrays, Value::deserialize;
            disambiguated: "disambiguatedPaths" to disambiguated_paths, document;
        }
        Ok(Self {
            updated_fields: updated_fields.unwrap_or_default(),
            removed_fields: removed_fields.unwrap_or_default(),
            truncated_arrays: truncated_arrays.unwrap_or_default(),
            disambiguated_paths,
        })
    }
}

fn token(value: &Value<'_>) -> Result<ResumeToken> {
    let token = ResumeToken::from_bytes(value.document_bytes()?);
    token.ok_or_else(|| DecodeError::new("the document has no terminating zero byte"))
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
