//! The BSON vocabulary of the driver, under one name for the whole crate.

pub use ::bson::oid::ObjectId;
pub use ::bson::{
    Binary, Bson, DateTime, Decimal128, Document, RawDocument, RawDocumentBuf, Regex, Timestamp, Uuid, bson, doc,
    spec,
};

/// What encoding a value to BSON can fail with.
pub type EncodeError = ::bson::error::Error;

/// Encodes any serde value as one BSON value.
///
/// # Errors
/// Fails when the value has no BSON form, such as a map whose keys are not strings.
pub fn to_bson<T: serde::Serialize + ?Sized>(value: &T) -> Result<Bson, EncodeError> {
    ::bson::serialize_to_bson(value)
}
