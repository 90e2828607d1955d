//! OP_MSG: writes requests into the buffer of a connection, and parses replies ([OP_MSG]).
//!
//! [OP_MSG]: https://github.com/mongodb/specifications/blob/master/source/message/OP_MSG.md

use super::{HEADER_LENGTH, WireError, crc32c::crc32c, header::OP_MSG};

const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;
const EXHAUST_ALLOWED: u32 = 1 << 16;
/// Bits 0 to 15 are required: an unknown required bit is an error. Unknown optional bits are
/// ignored ([OP_MSG], "flagBits").
const REQUIRED_BITS: u32 = 0xFFFF;

const KIND_BODY: u8 = 0;
pub(super) const KIND_SEQUENCE: u8 = 1;

/// Writes one message to the end of a buffer. [`finish`](Self::finish) sets the length in the
/// header.
pub struct MessageWriter<'b> {
    /// The buffer. Sections are appended to it.
    pub buffer: &'b mut Vec<u8>,
    start: usize,
    limit: usize,
}

/// The message exceeds `maxMessageSizeBytes` of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTooLarge {
    /// The size of the message in bytes, before compression.
    pub size: usize,
    /// `maxMessageSizeBytes`.
    pub limit: usize,
}

impl<'b> MessageWriter<'b> {
    /// Begins a message of at most `limit` bytes. The body document must be appended next.
    pub fn begin(buffer: &'b mut Vec<u8>, request_id: i32, limit: usize) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&0_i32.to_le_bytes());
        buffer.extend_from_slice(&request_id.to_le_bytes());
        buffer.extend_from_slice(&0_i32.to_le_bytes());
        buffer.extend_from_slice(&OP_MSG.to_le_bytes());
        buffer.extend_from_slice(&0_u32.to_le_bytes());
        buffer.push(KIND_BODY);
        Self { buffer, start, limit }
    }

    /// Begins a document sequence (kind 1). Documents are appended to `buffer` until
    /// [`end_sequence`](Self::end_sequence).
    pub fn begin_sequence(&mut self, identifier: &str) -> usize {
        self.buffer.push(KIND_SEQUENCE);
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&0_i32.to_le_bytes());
        self.buffer.extend_from_slice(identifier.as_bytes());
        self.buffer.push(0);
        start
    }

    /// Ends the sequence that began at `start`.
    pub fn end_sequence(&mut self, start: usize) -> Result<(), MessageTooLarge> {
        patch_length(self.buffer, start, self.limit)
    }

    /// Sets `moreToCome`: the server does not reply. For unacknowledged writes.
    pub fn expect_no_reply(&mut self) {
        self.set_flag(MORE_TO_COME);
    }

    /// Sets `exhaustAllowed`: the server may send more than one reply.
    pub fn allow_exhaust(&mut self) {
        self.set_flag(EXHAUST_ALLOWED);
    }

    fn set_flag(&mut self, flag: u32) {
        let flags = self.buffer.get_mut(self.start + HEADER_LENGTH..);
        for (byte, set) in flags.into_iter().flatten().zip(flag.to_le_bytes()) {
            *byte |= set;
        }
    }

    /// The size of the message so far, in bytes.
    pub fn size(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Sets `messageLength`. Fails if the message, before compression, exceeds
    /// `maxMessageSizeBytes`.
    pub fn finish(self) -> Result<(), MessageTooLarge> {
        patch_length(self.buffer, self.start, self.limit)
    }
}

fn patch_length(buffer: &mut [u8], start: usize, limit: usize) -> Result<(), MessageTooLarge> {
    let size = buffer.len() - start;
    let length = match i32::try_from(size) {
        Ok(length) if size <= limit => length,
        _ => return Err(MessageTooLarge { size, limit }),
    };
    if let Some(place) = buffer.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(())
}

/// A parsed reply, as ranges of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpMsg {
    /// The range of the body document.
    pub body: std::ops::Range<usize>,
    /// `moreToCome`: another reply follows without a request.
    pub more_to_come: bool,
}

/// Parses a message with its header. The length of `message` must be `messageLength`.
#[inline]
pub fn parse_op_msg(message: &[u8]) -> Result<OpMsg, WireError> {
    let flags = u32::from_le_bytes(read_4(message, HEADER_LENGTH)?);
    if flags & REQUIRED_BITS & !(CHECKSUM_PRESENT | MORE_TO_COME) != 0 {
        return Err(WireError::UnknownFlags(flags));
    }
    let mut end = message.len();
    if flags & CHECKSUM_PRESENT != 0 {
        end = end.checked_sub(4).ok_or(WireError::Truncated)?;
        let expected = u32::from_le_bytes(read_4(message, end)?);
        let found = crc32c(message.get(..end).ok_or(WireError::Truncated)?);
        if expected != found {
            return Err(WireError::WrongChecksum);
        }
    }
    let mut position = HEADER_LENGTH + 4;
    let mut body = None;
    while position < end {
        let kind = *message.get(position).ok_or(WireError::Truncated)?;
        position += 1;
        let length = i32::from_le_bytes(read_4(message, position)?);
        let section_end = usize::try_from(length)
            .ok()
            .filter(|length| *length >= 5)
            .and_then(|length| position.checked_add(length))
            .filter(|section_end| *section_end <= end)
            .ok_or(WireError::InvalidSectionLength(length))?;
        match kind {
            KIND_BODY if body.is_none() => body = Some(position..section_end),
            KIND_BODY => return Err(WireError::DuplicateBody),
            // No server sends document sequences in replies. The fields of the body are complete
            // without them, so they are skipped.
            KIND_SEQUENCE => {}
            other => return Err(WireError::UnknownSectionKind(other)),
        }
        position = section_end;
    }
    Ok(OpMsg {
        body: body.ok_or(WireError::MissingBody)?,
        more_to_come: flags & MORE_TO_COME != 0,
    })
}

fn read_4(bytes: &[u8], at: usize) -> Result<[u8; 4], WireError> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<4>())
        .copied()
        .ok_or(WireError::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: [u8; 5] = [5, 0, 0, 0, 0];

    fn message(flags: u32, sections: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LENGTH];
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(sections);
        bytes
    }

    fn body() -> Vec<u8> {
        [&[0_u8], &EMPTY[..]].concat()
    }

    #[test]
    fn a_written_message_is_parsed() {
        let mut buffer = vec![9, 9];
        let mut writer = MessageWriter::begin(&mut buffer, 3, 1000);
        writer.buffer.extend_from_slice(&EMPTY);
        let sequence = writer.begin_sequence("documents");
        writer.buffer.extend_from_slice(&EMPTY);
        writer.end_sequence(sequence).unwrap();
        writer.expect_no_reply();
        writer.finish().unwrap();
        let message = &buffer[2..];
        assert_eq!(
            message.len(),
            i32::from_le_bytes(*message.first_chunk().unwrap()) as usize
        );
        let parsed = parse_op_msg(message).unwrap();
        assert!(parsed.more_to_come);
        assert_eq!(message[parsed.body], EMPTY);
    }

    #[test]
    fn a_message_larger_than_the_limit_is_rejected() {
        const SIZE: usize = HEADER_LENGTH + 5 + EMPTY.len();
        for (limit, outcome) in [
            (SIZE, Ok(())),
            (
                SIZE - 1,
                Err(MessageTooLarge {
                    size: SIZE,
                    limit: SIZE - 1,
                }),
            ),
        ] {
            let mut buffer = vec![7];
            let writer = MessageWriter::begin(&mut buffer, 1, limit);
            writer.buffer.extend_from_slice(&EMPTY);
            assert_eq!(writer.finish(), outcome);
        }
    }

    #[test]
    fn exhaust_allowed_is_set() {
        let mut buffer = Vec::new();
        let mut writer = MessageWriter::begin(&mut buffer, 1, 1000);
        writer.buffer.extend_from_slice(&EMPTY);
        writer.allow_exhaust();
        writer.finish().unwrap();
        assert_eq!(
            buffer[HEADER_LENGTH..HEADER_LENGTH + 4],
            (1_u32 << 16).to_le_bytes()
        );
        assert!(!parse_op_msg(&buffer).unwrap().more_to_come);
    }

    #[test]
    fn the_checksum_is_verified() {
        let mut bytes = message(CHECKSUM_PRESENT, &body());
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        assert!(parse_op_msg(&bytes).is_ok());
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert_eq!(parse_op_msg(&bytes).unwrap_err(), WireError::WrongChecksum);
    }

    #[test]
    fn malformed_messages_are_rejected() {
        let two = [body(), body()].concat();
        for (flags, sections) in [
            (0, vec![]),
            (0, two),
            (0, vec![2, 5, 0, 0, 0, 0]),
            (0, vec![0, 255, 0, 0, 0, 0]),
            (0, vec![0, 255, 255, 255, 255, 0]),
            (0, vec![0, 5, 0]),
            (1 << 2, body()),
            (CHECKSUM_PRESENT, vec![]),
        ] {
            assert!(
                parse_op_msg(&message(flags, &sections)).is_err(),
                "{flags} {sections:?}"
            );
        }
        // Unknown optional bits are ignored.
        assert!(parse_op_msg(&message(1 << 16, &body())).is_ok());
    }
}
