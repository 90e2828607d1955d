//! How values are stored, without their types: ids, keys of maps, JSON schemas and versions of documents.

pub mod id;
pub(crate) mod json_schema;
pub(crate) mod map_key;
pub(crate) mod schema_version;
