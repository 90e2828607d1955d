//! OP_COMPRESSED: messages in a compressed frame (Wire Compression specification).

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

/// The compressors of a client, in the order of preference, and the level of zlib.
#[derive(Clone, Debug, Default)]
pub struct CompressionSettings {
    compressors: Arc<[Compressor]>,
    zlib_level: i32,
}

impl CompressionSettings {
    /// Those of the compressors that are available, each once, in the order given, and the level of zlib: -1, the default,
    /// to 9.
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

    /// What the handshake offers, in order of preference.
    pub fn offered(&self) -> &[Compressor] {
        &self.compressors
    }
}

/// The compression of one connection: what was offered, what was agreed on, and the memory that the compressors keep
/// between messages.
#[derive(Debug)]
pub struct Compression {
    settings: CompressionSettings,
    chosen: Option<Compressor>,
    codecs: Codecs,
    /// The last packed request. Its length only grows, so that it is zeroed once.
    packed: Vec<u8>,
}

impl Compression {
    /// Nothing is compressed before [`choose`](Self::choose), but replies may be at once.
    pub fn new(settings: CompressionSettings) -> Self {
        Self {
            codecs: Codecs::new(settings.zlib_level),
            settings,
            chosen: None,
            packed: Vec::new(),
        }
    }

    /// What the handshake offered, in order of preference.
    pub fn offered(&self) -> &[Compressor] {
        self.settings.offered()
    }

    /// Compresses requests from now on, by one of the compressors offered.
    pub fn choose(&mut self, compressor: Option<Compressor>) {
        self.chosen = compressor.filter(|compressor| self.offered().contains(compressor));
    }

    /// The bytes to send for a request: a compressed frame, or the request itself if nothing was agreed on, if its command
    /// must not be compressed, or if the frame would be larger than `limit`.
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
            // Incompressible bytes grow a little, and a message may be as large as the limit.
            return Ok(request);
        }
        write_packed_header(&mut self.packed, header, length, content.len(), compressor.id())?;
        Ok(self.packed.get(..length).unwrap_or_default())
    }

    /// Gives the memory of the last packed request back if it is more than `kept` bytes.
    pub fn release(&mut self, kept: usize) {
        if self.packed.capacity() > kept {
            self.packed = Vec::new();
        }
    }

    /// Unpacks a compressed frame, header included, into the beginning of `target` and returns the length of the message,
    /// which has a header again. `target` grows when needed, to no more than `limit` bytes.
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
                    "it holds {} bytes, and claims {}",
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
        // The frame's header said enough of the message but for this.
        if length < Header::LEAST_REPLY {
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
