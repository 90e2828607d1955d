//! The calls: handles of collections, their actions, pipelines, relations, and what is observed of them.
//!
//! A folder imports only those before it: `observe`, `handle`, `read`, `write`, `bulk`, `aggregate`, `watch`, `relation`.

pub mod aggregate;
pub(crate) mod bulk;
pub mod collection;
pub(crate) mod filtered;
pub(crate) mod handle;
pub mod observe;
pub(crate) mod read;
pub mod relation;
pub(crate) mod watch;
pub(crate) mod write;
