//! Values that serde writes and reads: fields with `#[document(opaque)]` and with `#[serde(with = "…")]`.

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::bson::{
    Bson, DecodeError, Document, EncodeError,
    codec::{Fields, Value, Writer},
    decode_document,
};

/// Writes a value by its `Serialize`.
pub fn write<T: Serialize + ?Sized>(out: &mut Writer<'_>, value: &T) -> Result<(), EncodeError> {
    out.serialize(value)
}

/// Reads a value by its `Deserialize`.
pub fn read<'de, T: Deserialize<'de>>(value: &Value<'de>) -> Result<T, DecodeError> {
    value.deserialize()
}

/// Writes the fields of a document that serde writes into the document of another type.
pub fn write_fields(
    out: &mut Writer<'_>,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let mut bytes = Vec::new();
    Writer::write(&mut bytes, write)?;
    let document = decode_document(&bytes).map_err(|error| EncodeError::new(error.to_string()))?;
    for (key, value) in &document {
        out.entry(key, |out| out.bson(value))?;
    }
    Ok(())
}

/// Copies the current field to a document, from which a function reads a flattened field.
pub fn copy(document: &mut Document, field: &Fields<'_>) -> Result<(), DecodeError> {
    let value = field.value().to_bson().map_err(|error| field.locate(error))?;
    document.insert(field.key(), value);
    Ok(())
}

/// Reads a flattened field from the fields of the document.
pub fn read_fields<T>(
    document: &Document,
    read: impl FnOnce(&Value<'_>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let mut bytes = Vec::new();
    Writer::write(&mut bytes, |out| out.document(document))
        .map_err(|error| DecodeError::new(error.to_string()))?;
    read(&Value::of_document(&bytes))
}

/// Reads the content of a variant that is not read by its fields, from a copy of the document without the tag.
pub fn read_beside<T>(
    value: &Value<'_>,
    tag: &str,
    read: impl FnOnce(&Value<'_>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let Bson::Document(mut document) = value.to_bson()? else {
        return Err(value.mismatch("a document"));
    };
    document.remove(tag);
    read_fields(&document, read)
}

/// The value of a field that a document does not have, if its `Deserialize` has one.
pub fn missing<'de, T: Deserialize<'de>>() -> Option<T> {
    T::deserialize(Missing).ok()
}

/// A field that is not there: `None` for an `Option`, an error for other types.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, DecodeError> {
        Err(DecodeError::new("missing field"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}
