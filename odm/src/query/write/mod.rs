//! Writes of documents, and the upgrades of older ones that they need.

pub(crate) mod changes;
pub(crate) mod delete;
mod difference;
pub(crate) mod encoded;
pub(crate) mod find_and_modify;
pub(crate) mod input;
pub(crate) mod insert;
pub(crate) mod migrate;
pub(crate) mod outdated;
pub(crate) mod replace;
pub(crate) mod restore;
pub(crate) mod save;
pub(crate) mod shard_key;
pub(crate) mod update;
pub(crate) mod upsert;
