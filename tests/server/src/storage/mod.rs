//! In-memory storage of a deployment: databases, collections, records and indexes.

pub(crate) mod catalog;
pub(crate) mod change;
pub(crate) mod collection;
mod encrypted;
pub(crate) mod index;
pub(crate) mod index_key;
pub(crate) mod index_relation;
pub(crate) mod index_spec;
pub(crate) mod key;
pub(crate) mod namespace;
mod partial_filter;
mod statistics;
pub(crate) mod text_spec;
pub(crate) mod ttl;

pub(crate) use catalog::Catalog;
pub(crate) use collection::Collection;
pub(crate) use encrypted::encrypted_paths;
pub(crate) use namespace::Namespace;

/// Identifies a record within its collection. IDs increase in insertion order.
pub(crate) type RecordId = u64;
