//! OP_COMPRESSED ([OP_COMPRESSED]).
//!
//! [OP_COMPRESSED]:
//! https://github.com/mongodb/specifications/blob/master/source/compression/OP_COMPRESSED.md

mod codec;
mod frame;
mod incompressible;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use super::{HEADER_LENGTH, Header, WireError};
use crate::types::compressor::Compressor;
pub(super) use codec::CodecError;
use codec::Codecs;
pub(super) use frame::PACKED_HEADER_LENGTH;
use frame::{PackedHeader, write_inner_header, write_packed_header};
use incompressible::may_compress;

/// The compressors of a client in the order of preference, and the level of zlib.
#[derive(Clone, Debug, Default)]
pub struct CompressionSettings {
    compressors: Arc<[Compressor]>,
    zlib_level: i32,
}

impl CompressionSettings {
    /// Removes duplicates and compressors whose feature is disabled. `zlib_level` is from -1, the
    /// default, to 9.
    pub fn new(wanted: &[Compressor], zlib_level: Option<i32>) -> Self {
        let mut compressors = Vec::new();
        for compressor in wanted {
            if compressor.is_available() && !compressors.contains(compressor) {
                compressors.push(*compressor);
            }
        }
        Self {
            compressors: compressors.into(),
            zlib_level: zlib_level.unwrap_or(-1),
        }
    }

    /// `compression` in the handshake: the compressors in the order of preference.
    pub fn offered(&self) -> &[Compressor] {
        &self.compressors
    }
}

/// The compression of one connection: the offered compressors, the negotiated one, and the memory
/// that compressors keep between messages.
pub struct Compression {
    settings: CompressionSettings,
    chosen: Option<Compressor>,
    codecs: Codecs,
    /// The last compressed request. The vector is not truncated, so that it is zeroed only once.
    packed: Vec<u8>,
}

impl Compression {
    /// Requests are not compressed before [`choose`](Self::choose). Replies may be compressed with
    /// any offered compressor.
    pub fn new(settings: CompressionSettings) -> Self {
        Self {
            codecs: Codecs::new(settings.zlib_level),
            settings,
            chosen: None,
            packed: Vec::new(),
        }
    }

    /// `compression` in the handshake: the compressors in the order of preference.
    pub fn offered(&self) -> &[Compressor] {
        self.settings.offered()
    }

    /// Sets the compressor for requests, one of the offered ones. `None`: requests are not
    /// compressed.
    pub fn choose(&mut self, compressor: Option<Compressor>) {
        self.chosen = compressor.filter(|compressor| self.offered().contains(compressor));
    }

    /// The bytes to send for a request: OP_COMPRESSED, or the request itself if no compressor was
    /// negotiated, if the command must not be compressed, or if the compressed message would be
    /// larger than `limit`.
    pub fn pack<'a>(&'a mut self, request: &'a [u8], limit: usize) -> Result<&'a [u8], WireError> {
        let Some(compressor) = self.chosen.filter(|_| may_compress(request)) else {
            return Ok(request);
        };
        let Some((header, content)) = request.split_first_chunk::<HEADER_LENGTH>() else {
            return Ok(request);
        };
        let bound = PACKED_HEADER_LENGTH + Codecs::bound(compressor, content.len());
        if self.packed.len() < bound {
            self.packed.resize(bound, 0);
        }
        let target = self.packed.get_mut(PACKED_HEADER_LENGTH..).unwrap_or_default();
        let size = self
            .codecs
            .compress(compressor, content, target)
            .map_err(WireError::Compress)?;
        let length = PACKED_HEADER_LENGTH + size;
        if length > limit {
            // Incompressible content grows slightly, and a message may be as large as the limit.
            return Ok(request);
        }
        write_packed_header(&mut self.packed, header, length, content.len(), compressor.id())?;
        Ok(self.packed.get(..length).unwrap_or_default())
    }

    /// Frees the buffer of the last compressed request if it is larger than `kept` bytes.
    pub fn release(&mut self, kept: usize) {
        if self.packed.capacity() > kept {
            self.packed = Vec::new();
        }
    }

    /// Decompresses OP_COMPRESSED, with its header, into `target`, and returns the length of the
    /// original message with its header. `target` grows if necessary, to at most `limit` bytes.
    pub fn unpack(&mut self, frame: &[u8], limit: usize, target: &mut Vec<u8>) -> Result<usize, WireError> {
        let packed = PackedHeader::parse(frame, limit)?;
        let content = frame.get(PACKED_HEADER_LENGTH..).unwrap_or_default();
        let compressor = match packed.compressor_id {
            0 => None,
            id => Some(
                Compressor::numbered(id)
                    .filter(|compressor| self.offered().contains(compressor))
                    .ok_or_else(|| unknown(id))?,
            ),
        };
        let name = compressor.map_or("noop", Compressor::as_str);
        let wrong = |reason: &dyn fmt::Display| WireError::Decompress(CodecError::new(name, reason));
        match compressor {
            None if content.len() != packed.size => {
                return Err(wrong(&format_args!(
                    "it contains {} bytes, but uncompressedSize is {}",
                    content.len(),
                    packed.size
                )));
            }
            None => {}
            Some(compressor) => {
                Codecs::check(compressor, content, packed.size).map_err(WireError::Decompress)?;
            }
        }
        let length = HEADER_LENGTH + packed.size;
        if target.len() < length {
            target.resize(length, 0);
        }
        let inner = target.get_mut(HEADER_LENGTH..length).unwrap_or_default();
        match compressor {
            None => inner.copy_from_slice(content),
            Some(compressor) => self
                .codecs
                .decompress(compressor, content, inner)
                .map_err(WireError::Decompress)?,
        }
        write_inner_header(target, frame, length, packed.opcode)?;
        // The other checks were made for the OP_COMPRESSED header.
        if length < Header::MIN_REPLY_LENGTH {
            return Err(wrong(&format_args!(
                "{} bytes are too few for a reply",
                packed.size
            )));
        }
        Ok(length)
    }
}

fn unknown(id: u8) -> WireError {
    match Compressor::numbered(id) {
        Some(compressor) => WireError::CompressorNotOffered(compressor.as_str()),
        None => WireError::UnknownCompressor(id),
    }
}
