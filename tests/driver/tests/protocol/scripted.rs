//! The commands of the driver in response to scripted replies.

mod change_stream_errors;
mod change_streams;
mod client_bulk_writes;
mod cursors;
mod dead_servers;
mod end_sessions;
mod fields;
mod load_balanced;
mod odd_replies;
mod operation_ids;
mod replies;
mod retries;
mod splits;
mod tailable;
mod write_stages;
