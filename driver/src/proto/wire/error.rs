//! Violations of the wire protocol, and requests that cannot be sent.

use std::fmt;

use super::{MessageTooLarge, compression::CodecError, header::OP_MSG};

/// Bytes from a server that violate the wire protocol, or a request that cannot be compressed or
/// framed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The message or a section ends before its last field.
    Truncated,
    /// The reply is one of HTTP.
    Http,
    /// `messageLength` in the header exceeds the limit or is negative.
    TooLong {
        /// `messageLength`, in bytes.
        length: i32,
        /// The largest message that is accepted, in bytes.
        limit: usize,
    },
    /// `messageLength` in the header is less than that of the shortest reply.
    TooShort {
        /// `messageLength`, in bytes.
        length: usize,
    },
    /// The message is neither OP_MSG nor OP_COMPRESSED.
    UnknownOpcode(i32),
    /// Unknown flags among the required bits 0 to 15.
    UnknownFlags(u32),
    /// The CRC-32C checksum does not match.
    WrongChecksum,
    /// A section is longer than the message, or shorter than an empty document.
    InvalidSectionLength(i32),
    /// The kind of a section is neither 0 (body) nor 1 (document sequence).
    UnknownSectionKind(u8),
    /// The message has no section of kind 0 (body).
    MissingBody,
    /// The message has more than one section of kind 0 (body).
    DuplicateBody,
    /// An OP_COMPRESSED message is too short for its header.
    TruncatedCompressedHeader,
    /// An OP_COMPRESSED message contains an OP_COMPRESSED message.
    NestedCompression,
    /// An OP_COMPRESSED message contains neither OP_MSG nor OP_COMPRESSED.
    UnknownCompressedOpcode(i32),
    /// `uncompressedSize` exceeds the limit or is negative.
    InvalidUncompressedSize {
        /// `uncompressedSize`, in bytes, without the header.
        size: i32,
        /// The largest message that is accepted, in bytes.
        limit: usize,
    },
    /// `compressorId` is that of a compressor that the client did not offer in the handshake.
    CompressorNotOffered(&'static str),
    /// `compressorId` is unknown.
    UnknownCompressor(u8),
    /// A reply cannot be decompressed.
    Decompress(CodecError),
    /// A request cannot be compressed.
    Compress(CodecError),
    /// The length of a request does not fit into `messageLength`, an `int32`.
    LengthOverflow,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("a reply ends before its last field"),
            Self::Http => {
                f.write_str("the server answers with HTTP; check that the port is that of a MongoDB server")
            }
            Self::TooLong { length, limit } => {
                write!(
                    f,
                    "a message has messageLength {length}; the limit is {limit} bytes"
                )
            }
            Self::TooShort { length } => {
                write!(
                    f,
                    "a message has messageLength {length}, which is too short for a reply"
                )
            }
            Self::UnknownOpcode(opcode) => write!(
                f,
                "expected a reply with opcode {OP_MSG} (OP_MSG), found opcode {opcode}; is this a MongoDB server?"
            ),
            Self::UnknownFlags(flags) => write!(f, "a reply has unknown required flag bits: {flags:#x}"),
            Self::WrongChecksum => f.write_str("the checksum of a reply is wrong"),
            Self::InvalidSectionLength(length) => {
                write!(f, "a section of a reply has the invalid length {length}")
            }
            Self::UnknownSectionKind(kind) => write!(f, "a reply has a section of unknown kind {kind}"),
            Self::MissingBody => f.write_str("a reply has no body"),
            Self::DuplicateBody => f.write_str("a reply has two bodies"),
            Self::TruncatedCompressedHeader => f.write_str("a compressed reply ends within its header"),
            Self::NestedCompression => f.write_str("a compressed reply contains another compressed message"),
            Self::UnknownCompressedOpcode(opcode) => write!(
                f,
                "a compressed reply contains a message with opcode {opcode}, expected {OP_MSG} (OP_MSG)"
            ),
            Self::InvalidUncompressedSize { size, limit } => write!(
                f,
                "a compressed reply has an uncompressed size of {size} bytes; the limit of a message is {limit} bytes"
            ),
            Self::CompressorNotOffered(name) => {
                write!(f, "a reply is compressed by {name}, which was not offered")
            }
            Self::UnknownCompressor(id) => {
                write!(f, "a reply has the unknown compressorId {id}")
            }
            Self::Decompress(error) => write!(f, "a reply compressed by {error}"),
            Self::Compress(error) => write!(f, "a request cannot be compressed by {error}"),
            Self::LengthOverflow => f.write_str("the message is larger than 2 GiB"),
        }
    }
}

impl From<WireError> for crate::Error {
    fn from(error: WireError) -> Self {
        Self::protocol(error.to_string())
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
