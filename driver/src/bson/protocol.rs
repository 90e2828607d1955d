//! The names by which crate bson's types announce themselves to a serializer or deserializer.

/// A newtype whose bytes are a document.
pub(crate) const RAW_DOCUMENT: &str = "$__private__bson_RawDocument";
/// A newtype whose bytes are an array.
pub(crate) const RAW_ARRAY: &str = "$__private__bson_RawArray";
/// A newtype that wants any value, documents and arrays as bytes.
pub(crate) const RAW_BSON: &str = "$__private__bson_RawBson";
/// A newtype whose 16 bytes are a UUID.
pub(crate) const UUID: &str = "$__bson_private_uuid";
/// A newtype whose content wants the human readable form.
pub(crate) const HUMAN_READABLE: &str = "$__bson_private_human_readable";
/// A newtype whose strings may be repaired when they are not UTF-8.
pub(crate) const UTF8_LOSSY: &str = "$__bson_private_utf8_lossy";
/// A struct of this project's own: hints, then the value that they are about.
pub(crate) const HINTED: &str = "$marula_hinted";
/// The field of a hint.
pub(crate) const HINT: &str = "hint";
/// The field of the value.
pub(crate) const HINTED_VALUE: &str = "value";
/// A newtype of this project's own that wants the bytes of the document it is read from.
pub const DOCUMENT_BYTES: &str = "$marula_document_bytes";
