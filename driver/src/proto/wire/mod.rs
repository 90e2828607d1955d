//! The wire protocol: message headers, OP_MSG and OP_COMPRESSED (OP_MSG and Wire Compression specifications).

mod compression;
mod crc32c;
mod header;
mod op_msg;
mod reply_buffer;
pub mod sensitive;
#[cfg(test)]
pub mod tests;
mod whole_command;

pub use compression::{Compression, CompressionSettings};
pub use header::{HEADER_LENGTH, Header};
pub use op_msg::{MessageTooLarge, MessageWriter, parse_op_msg};
pub use reply_buffer::ReplyBuffer;
pub use whole_command::whole_command;

/// What a server allows unless its hello says otherwise.
pub const DEFAULT_MAX_MESSAGE_SIZE: usize = 48_000_000;

/// Bytes that break the wire protocol; the text says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError(pub String);

impl From<WireError> for crate::Error {
    fn from(error: WireError) -> Self {
        Self::protocol(error.0)
    }
}

impl From<MessageTooLarge> for crate::Error {
    fn from(MessageTooLarge { size, limit }: MessageTooLarge) -> Self {
        Self::invalid_argument(format!(
            "the command needs a message of {size} bytes, and the server accepts at most {limit} (maxMessageSizeBytes); split it \
             into several commands"
        ))
    }
}
