//! OP_COMPRESSED: decompresses requests and compresses replies.

use super::{HEADER_SIZE, MAX_MESSAGE_SIZE, Reader};
use bson::{Bson, Document};
use std::io::{Read, Write};

pub(crate) const OP_COMPRESSED: i32 = 2012;
/// The size of the fields `originalOpcode`, `uncompressedSize` and `compressorId`, in bytes.
const FIELDS: usize = 4 + 4 + 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compressor {
    Snappy,
    Zstd,
    Zlib,
}

impl Compressor {
    /// The default `networkMessageCompressors` of a server.
    pub(crate) const ALL: [Compressor; 3] = [Compressor::Snappy, Compressor::Zstd, Compressor::Zlib];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Compressor::Snappy => "snappy",
            Compressor::Zstd => "zstd",
            Compressor::Zlib => "zlib",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Compressor> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    fn id(self) -> u8 {
        match self {
            Compressor::Snappy => 1,
            Compressor::Zlib => 2,
            Compressor::Zstd => 3,
        }
    }

    fn compress(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Compressor::Snappy => snap::raw::Encoder::new().compress_vec(bytes).ok(),
            Compressor::Zstd => zstd::stream::encode_all(bytes, 0).ok(),
            Compressor::Zlib => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes).ok()?;
                encoder.finish().ok()
            }
        }
    }

    /// Decompresses `bytes`. Returns `None` unless the result has exactly `size` bytes.
    fn decompress(self, bytes: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        // One byte more than `size` detects a longer result.
        let limit = size as u64 + 1;
        match self {
            Compressor::Snappy => {
                if snap::raw::decompress_len(bytes).ok()? != size {
                    return None;
                }
                content = snap::raw::Decoder::new().decompress_vec(bytes).ok()?;
            }
            Compressor::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(bytes).ok()?;
                decoder.take(limit).read_to_end(&mut content).ok()?;
            }
            Compressor::Zlib => {
                let mut decoder = flate2::bufread::ZlibDecoder::new(bytes).take(limit);
                decoder.read_to_end(&mut content).ok()?;
                if !decoder.into_inner().into_inner().is_empty() {
                    return None;
                }
            }
        }
        (content.len() == size).then_some(content)
    }
}

/// Returns the compressors that client and server have in common, in the client's order.
pub(crate) fn negotiate(available: &[Compressor], hello: &Document) -> Option<Vec<Compressor>> {
    let Some(Bson::Array(wanted)) = hello.get("compression") else {
        return None;
    };
    let names = wanted.iter().filter_map(Bson::as_str);
    Some(
        names
            .filter_map(Compressor::from_name)
            .filter(|compressor| available.contains(compressor))
            .collect(),
    )
}

/// Returns whether `uncompressedSize` exceeds the maximum message size.
pub(crate) fn is_too_large(frame: &[u8]) -> bool {
    let size = || {
        let mut reader = Reader::new(frame);
        reader.take(HEADER_SIZE + 4).ok()?;
        usize::try_from(reader.i32().ok()?).ok()
    };
    size().is_some_and(|size| size > MAX_MESSAGE_SIZE - HEADER_SIZE)
}

/// Decompresses a message and restores its header. Returns `None` for a malformed OP_COMPRESSED or
/// a compressor that was not negotiated; the connection is then closed, as for any other unreadable
/// message.
pub(crate) fn unpack(frame: &[u8], agreed: &[Compressor]) -> Option<(Vec<u8>, Compressor)> {
    let mut reader = Reader::new(frame);
    let header = reader.take(HEADER_SIZE).ok()?;
    let opcode = reader.i32().ok().filter(|opcode| *opcode != OP_COMPRESSED)?;
    let size = usize::try_from(reader.i32().ok()?).ok()?;
    if size > MAX_MESSAGE_SIZE - HEADER_SIZE {
        return None;
    }
    let id = reader.take(1).ok()?[0];
    let compressor = *agreed.iter().find(|compressor| compressor.id() == id)?;
    let content = compressor.decompress(&frame[HEADER_SIZE + FIELDS..], size)?;
    let mut message = Vec::with_capacity(HEADER_SIZE + size);
    message.extend(((HEADER_SIZE + size) as i32).to_le_bytes());
    message.extend(&header[4..12]);
    message.extend(opcode.to_le_bytes());
    message.extend(content);
    Some((message, compressor))
}

/// Compresses a reply, unless the request was not compressed or the result would be too large.
pub(crate) fn pack(message: Vec<u8>, compressor: Option<Compressor>) -> Vec<u8> {
    let Some(compressor) = compressor else {
        return message;
    };
    let (header, content) = message.split_at(HEADER_SIZE);
    let Some(packed) = compressor.compress(content) else {
        return message;
    };
    let length = HEADER_SIZE + FIELDS + packed.len();
    if length > MAX_MESSAGE_SIZE {
        return message;
    }
    let mut frame = Vec::with_capacity(length);
    frame.extend((length as i32).to_le_bytes());
    frame.extend(&header[4..12]);
    frame.extend(OP_COMPRESSED.to_le_bytes());
    frame.extend(&header[12..]);
    frame.extend((content.len() as i32).to_le_bytes());
    frame.push(compressor.id());
    frame.extend(packed);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::{parse, reply};
    use bson::doc;

    #[test]
    fn compressors_round_trip() {
        let document = doc! { "ok": 1, "text": "abc".repeat(1_000) };
        for compressor in Compressor::ALL {
            let message = reply(7, 8, 0, &document);
            let frame = pack(message.clone(), Some(compressor));
            assert!(frame.len() < 300, "{compressor:?} {}", frame.len());
            let (unpacked, by) = unpack(&frame, &Compressor::ALL).unwrap();
            assert_eq!((&unpacked, by), (&message, compressor));
            assert_eq!(parse(&unpacked).unwrap().body, document);
            assert!(unpack(&frame, &[]).is_none(), "not negotiated");
        }
        assert_eq!(pack(vec![0; 30], None), vec![0; 30]);
    }

    #[test]
    fn malformed_frames_are_rejected() {
        for compressor in Compressor::ALL {
            let frame = pack(
                reply(7, 8, 0, &doc! { "ok": 1, "text": "abc".repeat(100) }),
                Some(compressor),
            );
            let refused = |change: &dyn Fn(&mut Vec<u8>)| {
                let mut frame = frame.clone();
                change(&mut frame);
                unpack(&frame, &Compressor::ALL).is_none()
            };
            assert!(refused(&|frame| frame[20] ^= 1), "{compressor:?}: wrong size");
            assert!(refused(&|frame| frame[23] = 255), "{compressor:?}: negative size");
            assert!(refused(&|frame| frame[23] = 127), "{compressor:?}: huge size");
            assert!(
                refused(&|frame| frame[24] = 9),
                "{compressor:?}: unknown compressor"
            );
            assert!(refused(
                &|frame| frame[16..20].copy_from_slice(&OP_COMPRESSED.to_le_bytes())
            ));
            assert!(
                refused(&|frame| frame.truncate(frame.len() - 1)),
                "{compressor:?}: truncated"
            );
            assert!(refused(&|frame| frame.push(0)), "{compressor:?}: trailing bytes");
            assert!(refused(&|frame| frame.truncate(20)));
        }
    }

    #[test]
    fn compressors_are_negotiated_in_the_clients_order() {
        let hello = doc! { "compression": ["zlib", "lzma", "snappy", 3] };
        let both = Some(vec![Compressor::Zlib, Compressor::Snappy]);
        assert_eq!(negotiate(&Compressor::ALL, &hello), both);
        assert_eq!(negotiate(&[Compressor::Zstd], &hello), Some(vec![]));
        assert_eq!(negotiate(&Compressor::ALL, &doc! {}), None);
    }
}
