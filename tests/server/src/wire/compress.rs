//! OP_COMPRESSED: taking requests out of it and putting replies into it.

use super::{HEADER_SIZE, MAX_MESSAGE_SIZE, Reader};
use bson::{Bson, Document};
use std::io::{Read, Write};

pub(crate) const OP_COMPRESSED: i32 = 2012;
/// Original operation code, size without header, compressor.
const FIELDS: usize = 4 + 4 + 1;

/// A compressor that a connection can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compressor {
    Snappy,
    Zstd,
    Zlib,
}

impl Compressor {
    /// Those of a server that nobody configured.
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

    /// The bytes, if they become `size` bytes and nothing is left over.
    fn decompress(self, bytes: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        // One byte more than claimed shows that there are too many.
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

/// What client and server have in common, in the client's order.
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

/// Whether a frame says that the message in it is longer than a message may be.
pub(crate) fn is_too_large(frame: &[u8]) -> bool {
    let size = || {
        let mut reader = Reader::new(frame);
        reader.take(HEADER_SIZE + 4).ok()?;
        usize::try_from(reader.i32().ok()?).ok()
    };
    size().is_some_and(|size| size > MAX_MESSAGE_SIZE - HEADER_SIZE)
}

/// Takes a message out of its frame and gives it a header again. `None` for a frame that breaks a rule, or whose compressor was
/// not agreed on: such a client is cut off, as it is for any other message that cannot be read.
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

/// Puts a reply into a frame, unless the request was in none or the frame would be too large.
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
    fn every_compressor_gives_back_what_it_took() {
        let document = doc! { "ok": 1, "text": "abc".repeat(1_000) };
        for compressor in Compressor::ALL {
            let message = reply(7, 8, 0, &document);
            let frame = pack(message.clone(), Some(compressor));
            assert!(frame.len() < 300, "{compressor:?} {}", frame.len());
            let (unpacked, by) = unpack(&frame, &Compressor::ALL).unwrap();
            assert_eq!((&unpacked, by), (&message, compressor));
            assert_eq!(parse(&unpacked).unwrap().body, document);
            assert!(unpack(&frame, &[]).is_none(), "not agreed on");
        }
        assert_eq!(pack(vec![0; 30], None), vec![0; 30]);
    }

    #[test]
    fn frames_that_lie_are_refused() {
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
            assert!(refused(&|frame| frame[20] ^= 1), "{compressor:?}: another size");
            assert!(
                refused(&|frame| frame[23] = 255),
                "{compressor:?}: a negative size"
            );
            assert!(refused(&|frame| frame[23] = 127), "{compressor:?}: a huge size");
            assert!(
                refused(&|frame| frame[24] = 9),
                "{compressor:?}: another compressor"
            );
            assert!(refused(
                &|frame| frame[16..20].copy_from_slice(&OP_COMPRESSED.to_le_bytes())
            ));
            assert!(
                refused(&|frame| frame.truncate(frame.len() - 1)),
                "{compressor:?}: its end"
            );
            assert!(refused(&|frame| frame.push(0)), "{compressor:?}: garbage");
            assert!(refused(&|frame| frame.truncate(20)));
        }
    }

    #[test]
    fn the_clients_order_is_kept() {
        let hello = doc! { "compression": ["zlib", "lzma", "snappy", 3] };
        let both = Some(vec![Compressor::Zlib, Compressor::Snappy]);
        assert_eq!(negotiate(&Compressor::ALL, &hello), both);
        assert_eq!(negotiate(&[Compressor::Zstd], &hello), Some(vec![]));
        assert_eq!(negotiate(&Compressor::ALL, &doc! {}), None);
    }
}
