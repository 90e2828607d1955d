//! The 16 bytes before every message.

use super::{WireError, compression::PACKED_HEADER_LENGTH};

/// Length of a header in bytes.
pub const HEADER_LENGTH: usize = 16;

/// The operation code of OP_MSG.
pub(super) const OP_MSG: i32 = 2013;
/// The operation code of a compressed message.
pub(super) const OP_COMPRESSED: i32 = 2012;

/// A checked message header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the whole message, header included.
    pub length: usize,
    /// The request this message answers.
    pub response_to: i32,
    /// Whether it is OP_COMPRESSED instead of OP_MSG.
    pub compressed: bool,
}

impl Header {
    /// The shortest reply: header, flags, one section of kind 0, and an empty document.
    pub(super) const LEAST_REPLY: usize = HEADER_LENGTH + 4 + 1 + 5;

    /// Reads the header of a reply and refuses lengths that no reply can have, before anything is allocated for it.
    pub fn parse(bytes: &[u8; HEADER_LENGTH], max_message_size: usize) -> Result<Self, WireError> {
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
        // Beside its header, a compressed message holds at least one byte.
        let least = if compressed {
            PACKED_HEADER_LENGTH + 1
        } else {
            Self::LEAST_REPLY
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
    fn reads_a_header() {
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
    fn refuses_absurd_lengths_and_foreign_protocols() {
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
