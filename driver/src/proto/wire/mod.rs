//! The wire protocol: message headers, OP_MSG and OP_COMPRESSED ([OP_MSG], [Wire Compression]).
//!
//! [OP_MSG]: https://github.com/mongodb/specifications/blob/master/source/message/OP_MSG.md
//! [Wire Compression]:
//! https://github.com/mongodb/specifications/blob/master/source/compression/OP_COMPRESSED.md

mod compression;
mod crc32c;
mod error;
mod header;
mod op_msg;
mod reply_buffer;
pub mod sensitive;
#[cfg(test)]
pub(crate) mod tests;
mod whole_command;

pub use compression::{Compression, CompressionSettings};
pub use error::WireError;
pub use header::{HEADER_LENGTH, Header};
pub use op_msg::{MessageTooLarge, MessageWriter, parse_op_msg};
pub use reply_buffer::ReplyBuffer;
pub(crate) use whole_command::command_body;
pub use whole_command::whole_command;

/// `maxMessageSizeBytes` if the hello reply does not state it.
pub const DEFAULT_MAX_MESSAGE_SIZE: usize = 48_000_000;
