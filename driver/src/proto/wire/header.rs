//! The message header, 16 bytes before every message.

use super::{WireError, compression::PACKED_HEADER_LENGTH};

/// The length of a message header in bytes.
pub const HEADER_LENGTH: usize = 16;

/// The opcode of OP_MSG.
pub(super) const OP_MSG: i32 = 2013;
/// The opcode of OP_COMPRESSED.
pub(super) const OP_COMPRESSED: i32 = 2012;

/// A validated message header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// `messageLength`: the length of the message in bytes, including the header.
    pub length: usize,
    /// `responseTo`: the `requestID` of the request.
    pub response_to: i32,
    /// Whether the opcode is OP_COMPRESSED. Otherwise it is OP_MSG.
    pub compressed: bool,
}

impl Header {
    /// The length of the shortest reply: header, flag bits, one section of kind 0, and an empty
    /// document.
    pub(super) const MIN_REPLY_LENGTH: usize = HEADER_LENGTH + 4 + 1 + 5;

    /// Parses the header of a reply. Rejects lengths that no reply can have, before memory is
    /// allocated.
    pub fn parse(bytes: &[u8; HEADER_LENGTH], max_message_size: usize) -> Result<Self, WireError> {
        if bytes.starts_with(b"HTTP/") {
            return Err(WireError::Http);
        }
        let [l0, l1, l2, l3, _, _, _, _, r0, r1, r2, r3, o0, o1, o2, o3] = *bytes;
        let length = i32::from_le_bytes([l0, l1, l2, l3]);
        let response_to = i32::from_le_bytes([r0, r1, r2, r3]);
        let opcode = i32::from_le_bytes([o0, o1, o2, o3]);
        let length = match usize::try_from(length) {
            Ok(length) if length <= max_message_size => length,
            _ => {
                return Err(WireError::TooLong {
                    length,
                    limit: max_message_size,
                });
            }
        };
        let compressed = opcode == OP_COMPRESSED;
        if opcode != OP_MSG && !compressed {
            return Err(WireError::UnknownOpcode(opcode));
        }
        // A compressed message contains at least one byte after its header.
        let least = if compressed {
            PACKED_HEADER_LENGTH + 1
        } else {
            Self::MIN_REPLY_LENGTH
        };
        if length < least {
            return Err(WireError::TooShort { length });
        }
        Ok(Self {
            length,
            response_to,
            compressed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: i32, opcode: i32) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes[8..12].copy_from_slice(&7_i32.to_le_bytes());
        bytes[12..].copy_from_slice(&opcode.to_le_bytes());
        bytes
    }

    #[test]
    fn a_header_is_parsed() {
        let parsed = Header::parse(&header(100, 2013), 48_000_000).unwrap();
        assert_eq!(
            parsed,
            Header {
                length: 100,
                response_to: 7,
                compressed: false,
            }
        );
        assert!(Header::parse(&header(100, 2012), 48_000_000).unwrap().compressed);
    }

    #[test]
    fn invalid_lengths_and_other_protocols_are_rejected() {
        for (length, opcode) in [
            (-1, 2013),
            (i32::MAX, 2013),
            (15, 2013),
            (25, 2013),
            (100, 1),
            (100, 2011),
            (25, 2012),
        ] {
            assert!(
                Header::parse(&header(length, opcode), 48_000_000).is_err(),
                "{length} {opcode}"
            );
        }
        let http = *b"HTTP/1.1 400 Bad";
        assert!(Header::parse(&http, 48_000_000).is_err());
    }
}
