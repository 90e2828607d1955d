//! Parsing, compression and decompression of messages, implemented from the specifications.

use std::io::{self, Read, Write};

use marula_driver::bson::decode_document;

use super::Tapped;

/// The operation code of OP_MSG.
pub const OP_MSG: i32 = 2013;
/// The operation code of OP_COMPRESSED.
pub const OP_COMPRESSED: i32 = 2012;
const HEADER: usize = 16;
/// The length of a header with original operation code, uncompressed size and compressor id.
const PACKED_HEADER: usize = HEADER + 9;
const CHECKSUM_PRESENT: u8 = 1;

/// Parses a message. Also returns the message without compression.
pub(super) fn tap(connection: usize, bytes: &[u8]) -> io::Result<(Tapped, Vec<u8>)> {
    let (message, compressor) = match number(bytes, 12)? {
        OP_COMPRESSED => {
            let id = *bytes.get(PACKED_HEADER - 1).ok_or_else(short)?;
            (decompressed(bytes, id)?, Some(id))
        }
        _ => (bytes.to_vec(), None),
    };
    let mut tapped = Tapped {
        connection,
        length: bytes.len(),
        compressor,
        opcode: number(&message, 12)?,
        body: Default::default(),
        sequences: Vec::new(),
    };
    let flags = *message.get(HEADER).ok_or_else(short)?;
    let checksum = if flags & CHECKSUM_PRESENT != 0 { 4 } else { 0 };
    let mut rest = message
        .get(HEADER + 4..message.len() - checksum)
        .ok_or_else(short)?;
    while let Some((kind, section)) = rest.split_first() {
        let length = length(section)?;
        let (section, after) = section.split_at_checked(length).ok_or_else(short)?;
        match kind {
            0 => tapped.body = decode_document(section).map_err(io::Error::other)?,
            _ => tapped.sequences.push(sequence(section)?),
        }
        rest = after;
    }
    Ok((tapped, message))
}

fn sequence(section: &[u8]) -> io::Result<(String, usize)> {
    let content = section.get(4..).ok_or_else(short)?;
    let end = content.iter().position(|byte| *byte == 0).ok_or_else(short)?;
    let name = String::from_utf8_lossy(&content[..end]).into_owned();
    let mut documents = &content[end + 1..];
    let mut count = 0;
    while !documents.is_empty() {
        documents = documents.get(length(documents)?..).ok_or_else(short)?;
        count += 1;
    }
    Ok((name, count))
}

fn length(bytes: &[u8]) -> io::Result<usize> {
    match usize::try_from(number(bytes, 0)?) {
        Ok(length) if length >= 5 => Ok(length),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn number(bytes: &[u8], at: usize) -> io::Result<i32> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    bytes.map(|bytes| i32::from_le_bytes(*bytes)).ok_or_else(short)
}

fn short() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

fn decompressed(frame: &[u8], id: u8) -> io::Result<Vec<u8>> {
    let content = frame.get(PACKED_HEADER..).ok_or_else(short)?;
    let mut inner = Vec::new();
    match id {
        0 => inner.extend(content),
        1 => {
            inner = snap::raw::Decoder::new()
                .decompress_vec(content)
                .map_err(io::Error::other)?;
        }
        2 => {
            flate2::read::ZlibDecoder::new(content).read_to_end(&mut inner)?;
        }
        3 => inner = zstd::stream::decode_all(content)?,
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    let mut message = Vec::with_capacity(HEADER + inner.len());
    let length = i32::try_from(HEADER + inner.len()).map_err(io::Error::other)?;
    message.extend(length.to_le_bytes());
    message.extend(&frame[4..12]);
    message.extend(&frame[HEADER..HEADER + 4]);
    message.extend(inner);
    Ok(message)
}

/// Compresses a message with the compressor of this id.
///
/// # Panics
/// If the compressor id is unknown.
#[must_use]
pub fn compressed(message: &[u8], id: u8) -> Vec<u8> {
    let (header, content) = message.split_at(HEADER);
    let packed = match id {
        0 => content.to_vec(),
        1 => snap::raw::Encoder::new().compress_vec(content).expect("snappy"),
        2 => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content).expect("zlib");
            encoder.finish().expect("zlib")
        }
        3 => zstd::stream::encode_all(content, 1).expect("zstd"),
        _ => panic!("unknown compressor id {id}"),
    };
    let size = i32::try_from(content.len()).expect("a message");
    let mut frame = compressed_frame(OP_MSG, size, id, &packed);
    frame[4..12].copy_from_slice(&header[4..12]);
    frame
}

/// An OP_COMPRESSED message with these header fields, which may not match the content. The request
/// id is 0.
///
/// # Panics
/// If the content is too large for a message.
#[must_use]
pub fn compressed_frame(opcode: i32, size: i32, id: u8, content: &[u8]) -> Vec<u8> {
    let length = i32::try_from(PACKED_HEADER + content.len()).expect("a message");
    let mut frame = Vec::new();
    for number in [length, 0, 0, OP_COMPRESSED, opcode, size] {
        frame.extend(number.to_le_bytes());
    }
    frame.push(id);
    frame.extend(content);
    frame
}
