//! The wire protocol: OP_MSG, OP_COMPRESSED, and OP_QUERY with OP_REPLY for the initial handshake
//! of older clients. Implemented from the specification, independently of the driver.

pub(crate) mod compress;
pub(crate) mod connection;
pub(crate) mod crc32c;
pub(crate) mod legacy;
pub(crate) mod message;
mod nested;

use crate::error::{Error, Result, code};
use crate::violation::ViolationKind;
use bson::Document;
use bson::raw::RawDocument;

pub(crate) const HEADER_SIZE: usize = 16;
pub(crate) const OP_REPLY: i32 = 1;
pub(crate) const OP_QUERY: i32 = 2004;
pub(crate) const OP_MSG: i32 = 2013;
/// `maxMessageSizeBytes`.
pub(crate) const MAX_MESSAGE_SIZE: usize = 48_000_000;
/// The maximum size of a document in a message: `maxBsonObjectSize`, and 16 KiB for the fields of a
/// command.
pub(crate) const MAX_INTERNAL_DOCUMENT_SIZE: usize =
    crate::storage::collection::MAX_DOCUMENT_SIZE + (16 << 10);
/// The maximum nesting depth of documents. Deeper documents are rejected before they are traversed
/// recursively.
const MAX_NESTING: usize = 180;

/// A message header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) length: usize,
    pub(crate) request_id: i32,
    pub(crate) op_code: i32,
}

/// Returns whether the length in a header exceeds [`MAX_MESSAGE_SIZE`].
pub(crate) fn is_too_large(bytes: [u8; HEADER_SIZE]) -> bool {
    let length = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    usize::try_from(length).is_ok_and(|length| length > MAX_MESSAGE_SIZE)
}

impl Header {
    /// Decodes a header. Returns `None` if the length is invalid.
    pub(crate) fn parse(bytes: [u8; HEADER_SIZE]) -> Option<Header> {
        let word = |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let length = usize::try_from(word(0)).ok()?;
        (HEADER_SIZE..=MAX_MESSAGE_SIZE)
            .contains(&length)
            .then_some(Header {
                length,
                request_id: word(4),
                op_code: word(12),
            })
    }
}

/// A cursor over the body of a message.
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    /// The path of the first field that a document read so far has twice.
    repeated: Option<String>,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Reader {
            bytes,
            repeated: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'b [u8]> {
        if count > self.bytes.len() {
            return Err(Error::new(code::PROTOCOL_ERROR, "message is truncated"));
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(crate) fn cstring(&mut self) -> Result<&'b str> {
        let Some(end) = self.bytes.iter().position(|byte| *byte == 0) else {
            return Err(Error::new(code::PROTOCOL_ERROR, "unterminated string in message"));
        };
        let text = std::str::from_utf8(self.take(end)?)
            .map_err(|_| Error::new(code::PROTOCOL_ERROR, "invalid UTF-8 in message"))?;
        self.take(1)?;
        Ok(text)
    }

    /// Splits off the next `count` bytes as a reader.
    pub(crate) fn sub(&mut self, count: usize) -> Result<Reader<'b>> {
        self.take(count).map(Reader::new)
    }

    /// Reads a BSON document.
    pub(crate) fn document(&mut self) -> Result<Document> {
        let length = Reader::new(self.bytes).i32()?;
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length >= 5)
            .ok_or_else(|| Error::new(code::INVALID_BSON, format!("invalid BSON length {length}")))?;
        let bytes = self.take(length)?;
        if length > MAX_INTERNAL_DOCUMENT_SIZE {
            return Err(Error::new(
                code::BSON_OBJECT_TOO_LARGE,
                format!(
                    "BSONObj size: {length} ({length:#X}) is invalid. Size must be between 0 and \
                     {MAX_INTERNAL_DOCUMENT_SIZE}(16MB)"
                ),
            )
            .violating(ViolationKind::DocumentTooLarge));
        }
        let invalid = |error: &dyn std::fmt::Display| Error::new(code::INVALID_BSON, error.to_string());
        let raw = RawDocument::from_bytes(bytes).map_err(|error| invalid(&error))?;
        let repeated = nested::check(raw, MAX_NESTING)?;
        self.repeated = self.repeated.take().or(repeated);
        Document::try_from(raw).map_err(|error| invalid(&error))
    }
}

/// Encodes a reply document. Replies are created by this server, so a failure is an internal error.
pub(crate) fn encode(document: &Document) -> Vec<u8> {
    document.to_vec().unwrap_or_else(|error| {
        let reply = Error::new(code::INTERNAL_ERROR, format!("reply cannot be encoded: {error}")).to_reply();
        reply.to_vec().unwrap_or_default()
    })
}
