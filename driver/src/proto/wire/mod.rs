//! The wire protocol: message headers and OP_MSG (OP_MSG specification).

mod crc32c;
mod header;
mod op_msg;
mod reply_buffer;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use header::{HEADER_LENGTH, Header};
pub(crate) use op_msg::{MessageWriter, parse_op_msg};
pub(crate) use reply_buffer::ReplyBuffer;

/// What a server allows unless its hello says otherwise.
pub(crate) const DEFAULT_MAX_MESSAGE_SIZE: usize = 48_000_000;

/// Bytes that break the wire protocol; the text says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireError(pub(crate) String);

impl From<WireError> for crate::Error {
    fn from(error: WireError) -> Self {
        Self::protocol(error.0)
    }
}
