//! Operations through the public API: CRUD, cursors, bulk writes, administration, sessions.
//!
//! These tests run with any deployment: the one that `MONGODB_URI` names, or a test server in this
//! process.

mod action_options;
mod administration;
mod bulk_write;
mod causal_consistency;
mod client_bulk_write;
mod collections;
mod command_events;
mod concurrency;
mod crud;
mod crud_prose;
mod cursors;
mod explain;
mod future_sizes;
mod gridfs;
mod handle_options;
mod required_version;
mod runtime_end;
mod sessions;
mod sessions_prose;
