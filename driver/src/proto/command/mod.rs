//! Command documents: writing a command into a message, and parsing its reply.

mod builder;
mod late_reply;
mod reply;
mod target;
#[cfg(test)]
mod tests;

pub use builder::{CommandBuilder, max_time_millis, write_documents};
pub(crate) use late_reply::{Envelope, KillCursors, cluster_time_in, late_reply, lsid_in};
pub use late_reply::{OpenCursor, state_change_in};
pub use reply::{
    Reply, array_bytes, count, document_bytes, invalid_count, read_write_error_field, single_write_error,
    statement_index, write_concern_error, write_errors,
};
pub use target::collection_of;
