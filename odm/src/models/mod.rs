//! Declarations and implementations of models: names, indexes, maintained fields, hooks, projections and stored forms.

pub(crate) mod declaration;
pub(crate) mod foreign;
pub mod forms;
pub(crate) mod hooks;
pub mod index;
pub(crate) mod input;
pub(crate) mod insert;
pub mod managed;
pub mod model;
pub mod patch;
pub mod projection;
pub(crate) mod shard_key;
pub(crate) mod validation;
pub(crate) mod versioned;
