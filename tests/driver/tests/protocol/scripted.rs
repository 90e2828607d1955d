//! What the driver sends when a server answers in a way that a test decides.

mod cursors;
mod end_sessions;
mod fields;
mod load_balanced;
mod operation_ids;
mod replies;
mod retries;
mod splits;
mod tailable;
