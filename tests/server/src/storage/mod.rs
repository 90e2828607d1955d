//! The shared storage of one server instance: databases, collections, records and indexes, all in memory.

pub(crate) mod catalog;
pub(crate) mod change;
pub(crate) mod collection;
mod figures;
pub(crate) mod index;
pub(crate) mod index_relation;
pub(crate) mod index_spec;
pub(crate) mod key;
pub(crate) mod namespace;
pub(crate) mod ttl;

pub(crate) use catalog::Catalog;
pub(crate) use collection::Collection;
pub(crate) use namespace::Namespace;

/// Identifies a record within its collection; later records have greater ones.
pub(crate) type RecordId = u64;
