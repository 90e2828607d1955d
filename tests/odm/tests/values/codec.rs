//! The codec of models: for types whose meaning is the same under serde, it writes what serde writes.

mod attributes;
mod enums;
mod faults;
mod flattened;
mod models;
mod types;

use std::fmt::Debug;

use marula::bson::{self, Bson, DecodeError, Document, EncodeError, doc};
use marula::codec::{DecodeOwned, Encode, Names, Value, Writer, read, write};
use serde::Serialize;

/// A document with the value as its field `v`.
pub(crate) fn encode<T: Encode>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    Writer::write(&mut bytes, |out| {
        write::fields(out, &Names::NONE, |out| out.field("v", |out| value.encode(out)))
    })?;
    Ok(bytes)
}

pub(crate) fn decode<T: DecodeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let value = Value::of_document(bytes);
    let read = |value: &Value<'_>| {
        let mut elements = value.document()?;
        let (key, content) = elements.next_entry()?.expect("the document has one field");
        T::decode(&content).map_err(|error| elements.locate(key, &content, error))
    };
    read::by(&value, read)
}

/// The stored form.
pub(crate) fn stored<T: Encode>(value: &T) -> Bson {
    let document: Document = bson::from_slice(&encode(value).unwrap()).unwrap();
    document.get("v").unwrap().clone()
}

/// Reads a stored form.
pub(crate) fn load<T: DecodeOwned>(stored: impl Into<Bson>) -> Result<T, DecodeError> {
    decode(&bson::to_vec(&doc! { "v": stored }).unwrap())
}

/// The codec writes the bytes that the type's `Serialize` writes.
pub(crate) fn assert_same_bytes<T: Serialize + Encode + Debug>(value: &T) {
    let by_serde = bson::to_vec(&doc! { "v": bson::to_bson(value).unwrap() }).unwrap();
    let own = encode(value).unwrap();
    let document = |bytes| bson::from_slice::<Document>(bytes);
    assert_eq!(
        own,
        by_serde,
        "{value:?}: {:?}, {:?}",
        document(&own),
        document(&by_serde)
    );
}

/// The codec writes the bytes that the type's `Serialize` writes, and reads them.
pub(crate) fn assert_same<T>(value: &T)
where
    T: Serialize + Encode + DecodeOwned + PartialEq + Debug,
{
    assert_same_bytes(value);
    assert_eq!(&decode::<T>(&encode(value).unwrap()).unwrap(), value);
}

/// The text of the error of a stored form.
pub(crate) fn error_of<T: DecodeOwned + Debug>(stored: impl Into<Bson>) -> String {
    load::<T>(stored).unwrap_err().to_string()
}
