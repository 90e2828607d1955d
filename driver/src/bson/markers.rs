//! Names of serde newtypes and structs that carry more than their serde form.
//!
//! Crate bson marks its types for BSON serializers and deserializers by such names, as other
//! formats mark raw values and dates (`$serde_json::private::RawValue`,
//! `$__toml_private_datetime`). Types without a name of their own have the shape of their [Extended
//! JSON](https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md);
//! see `extended_json_shapes`.

/// Newtype of crate bson: its bytes are a document.
pub(crate) const RAW_DOCUMENT: &str = "$__private__bson_RawDocument";
/// Newtype of crate bson: its bytes are an array.
pub(crate) const RAW_ARRAY: &str = "$__private__bson_RawArray";
/// Newtype of crate bson: requests any value, documents and arrays as bytes.
pub(crate) const RAW_BSON: &str = "$__private__bson_RawBson";
/// Newtype of crate bson: its 16 bytes are a UUID.
pub(crate) const UUID: &str = "$__bson_private_uuid";
/// Newtype of crate bson: its content is in the human-readable form.
pub(crate) const HUMAN_READABLE: &str = "$__bson_private_human_readable";
/// Newtype of crate bson: invalid UTF-8 in its strings is replaced.
pub(crate) const UTF8_LOSSY: &str = "$__bson_private_utf8_lossy";
/// Newtype of this crate: requests the stored form of any value; see `exact`.
pub(crate) const STORED_VALUE: &str = "$marula_stored_value";
/// Newtype of this crate: requests the stored form of a document; see `exact`.
pub(crate) const STORED_DOCUMENT: &str = "$marula_stored_document";
/// Newtype of this crate: requests the bytes of the document it is read from.
pub const DOCUMENT_BYTES: &str = "$marula_document_bytes";
