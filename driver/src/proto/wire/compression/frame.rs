//! The header of OP_COMPRESSED ([OP_COMPRESSED], "OP_COMPRESSED Fields").
//!
//! [OP_COMPRESSED]:
//! https://github.com/mongodb/specifications/blob/master/source/compression/OP_COMPRESSED.md

use super::super::{
    HEADER_LENGTH, WireError,
    header::{OP_COMPRESSED, OP_MSG},
};

/// The message header, `originalOpcode`, `uncompressedSize` and `compressorId`.
pub(in super::super) const PACKED_HEADER_LENGTH: usize = HEADER_LENGTH + 4 + 4 + 1;

/// The validated fields of OP_COMPRESSED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedHeader {
    pub(super) opcode: i32,
    /// `uncompressedSize`: the size of the original message in bytes, without its header.
    pub(super) size: usize,
    pub(super) compressor_id: u8,
}

impl PackedHeader {
    /// Parses the fields. Rejects sizes and opcodes that no reply can have, before memory is
    /// allocated.
    pub(super) fn parse(frame: &[u8], limit: usize) -> Result<Self, WireError> {
        let fields = frame
            .get(HEADER_LENGTH..)
            .and_then(|rest| rest.first_chunk::<9>())
            .ok_or(WireError::TruncatedCompressedHeader)?;
        let [o0, o1, o2, o3, s0, s1, s2, s3, compressor_id] = *fields;
        let opcode = i32::from_le_bytes([o0, o1, o2, o3]);
        match opcode {
            OP_MSG => {}
            OP_COMPRESSED => return Err(WireError::NestedCompression),
            other => return Err(WireError::UnknownCompressedOpcode(other)),
        }
        let claimed = i32::from_le_bytes([s0, s1, s2, s3]);
        let size = usize::try_from(claimed)
            .ok()
            .filter(|size| *size <= limit.saturating_sub(HEADER_LENGTH))
            .ok_or(WireError::InvalidUncompressedSize { size: claimed, limit })?;
        Ok(Self {
            opcode,
            size,
            compressor_id,
        })
    }
}

/// Writes the headers in front of compressed content.
pub(super) fn write_packed_header(
    frame: &mut [u8],
    original: &[u8; HEADER_LENGTH],
    length: usize,
    size: usize,
    compressor_id: u8,
) -> Result<(), WireError> {
    let [_, _, _, _, ids @ .., o0, o1, o2, o3] = original;
    let mut fields = length_field(length)?.into_iter();
    let tail = OP_COMPRESSED.to_le_bytes().into_iter();
    let packed = [*o0, *o1, *o2, *o3].into_iter().chain(length_field(size)?);
    let header = fields
        .by_ref()
        .chain(ids.iter().copied())
        .chain(tail)
        .chain(packed)
        .chain([compressor_id]);
    for (place, byte) in frame.iter_mut().zip(header) {
        *place = byte;
    }
    Ok(())
}

/// Restores the header of the original message, which its checksum covers.
pub(super) fn write_inner_header(
    message: &mut [u8],
    frame: &[u8],
    length: usize,
    opcode: i32,
) -> Result<(), WireError> {
    let ids = frame.get(4..12).unwrap_or_default().iter().copied();
    let header = length_field(length)?
        .into_iter()
        .chain(ids)
        .chain(opcode.to_le_bytes());
    for (place, byte) in message.iter_mut().zip(header) {
        *place = byte;
    }
    Ok(())
}

fn length_field(length: usize) -> Result<[u8; 4], WireError> {
    i32::try_from(length)
        .map(i32::to_le_bytes)
        .map_err(|_| WireError::LengthOverflow)
}
