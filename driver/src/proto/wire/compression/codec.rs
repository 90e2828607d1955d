//! The compressors behind one trait. Each keeps its memory between messages.

#[cfg(not(all(feature = "snappy", feature = "zlib", feature = "zstd")))]
mod missing;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(not(feature = "snappy"))]
use missing as snappy;
#[cfg(not(feature = "zlib"))]
use missing as zlib;
#[cfg(not(feature = "zstd"))]
use missing as zstd;

use std::fmt;

use crate::types::compressor::Compressor;

/// An error of a compressor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecError {
    /// The name of the compressor.
    pub compressor: &'static str,
    /// What is wrong with the bytes, or the error of the library.
    pub reason: String,
}

impl CodecError {
    pub(super) fn new(compressor: &'static str, reason: &dyn fmt::Display) -> Self {
        Self {
            compressor,
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.compressor, self.reason)
    }
}

/// A compressor.
trait Codec: Sized {
    /// What is wrong with the bytes, or the error of the library.
    type Error: fmt::Display;
    /// The state for compression that is kept between messages.
    type Packer;
    /// The state for decompression that is kept between messages.
    type Unpacker;

    /// `level` is used by zlib only.
    fn packer(level: i32) -> Result<Self::Packer, Self::Error>;

    fn unpacker() -> Result<Self::Unpacker, Self::Error>;

    /// The maximum size of `size` bytes after compression.
    fn bound(size: usize) -> usize;

    /// Compresses into `target` and returns the number of bytes written.
    fn compress(packer: &mut Self::Packer, content: &[u8], target: &mut [u8]) -> Result<usize, Self::Error>;

    /// Rejects content that cannot decompress to `size` bytes, before memory is allocated for them.
    fn check(content: &[u8], size: usize) -> Result<(), Self::Error>;

    /// Decompresses all of `content`, which must fill `target`.
    fn decompress(
        unpacker: &mut Self::Unpacker,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<(), Self::Error>;
}

/// The state of one compressor, created when it is first needed.
struct CodecState<C: Codec> {
    packer: Option<Box<C::Packer>>,
    unpacker: Option<Box<C::Unpacker>>,
}

impl<C: Codec> Default for CodecState<C> {
    fn default() -> Self {
        Self {
            packer: None,
            unpacker: None,
        }
    }
}

impl<C: Codec> CodecState<C> {
    fn compress(&mut self, level: i32, content: &[u8], target: &mut [u8]) -> Result<usize, C::Error> {
        let packer = match &mut self.packer {
            Some(packer) => packer,
            empty => empty.insert(Box::new(C::packer(level)?)),
        };
        C::compress(packer, content, target)
    }

    fn decompress(&mut self, content: &[u8], target: &mut [u8]) -> Result<(), C::Error> {
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            empty => empty.insert(Box::new(C::unpacker()?)),
        };
        C::decompress(unpacker, content, target)
    }
}

/// The compressors of a connection.
pub(super) struct Codecs {
    zlib_level: i32,
    snappy: CodecState<snappy::Snappy>,
    zlib: CodecState<zlib::Zlib>,
    zstd: CodecState<zstd::Zstd>,
}

impl fmt::Debug for Codecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codecs")
            .field("zlib_level", &self.zlib_level)
            .finish_non_exhaustive()
    }
}

impl Codecs {
    pub(super) fn new(zlib_level: i32) -> Self {
        Self {
            zlib_level,
            snappy: CodecState::default(),
            zlib: CodecState::default(),
            zstd: CodecState::default(),
        }
    }

    pub(super) fn bound(compressor: Compressor, size: usize) -> usize {
        match compressor {
            Compressor::Snappy => snappy::Snappy::bound(size),
            Compressor::Zlib => zlib::Zlib::bound(size),
            Compressor::Zstd => zstd::Zstd::bound(size),
        }
    }

    pub(super) fn compress(
        &mut self,
        compressor: Compressor,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<usize, CodecError> {
        let level = self.zlib_level;
        let named = |error: &dyn fmt::Display| CodecError::new(compressor.as_str(), error);
        match compressor {
            Compressor::Snappy => self
                .snappy
                .compress(level, content, target)
                .map_err(|e| named(&e)),
            Compressor::Zlib => self.zlib.compress(level, content, target).map_err(|e| named(&e)),
            Compressor::Zstd => self.zstd.compress(level, content, target).map_err(|e| named(&e)),
        }
    }

    pub(super) fn check(compressor: Compressor, content: &[u8], size: usize) -> Result<(), CodecError> {
        let named = |error: &dyn fmt::Display| CodecError::new(compressor.as_str(), error);
        match compressor {
            Compressor::Snappy => snappy::Snappy::check(content, size).map_err(|e| named(&e)),
            Compressor::Zlib => zlib::Zlib::check(content, size).map_err(|e| named(&e)),
            Compressor::Zstd => zstd::Zstd::check(content, size).map_err(|e| named(&e)),
        }
    }

    pub(super) fn decompress(
        &mut self,
        compressor: Compressor,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<(), CodecError> {
        let named = |error: &dyn fmt::Display| CodecError::new(compressor.as_str(), error);
        match compressor {
            Compressor::Snappy => self.snappy.decompress(content, target).map_err(|e| named(&e)),
            Compressor::Zlib => self.zlib.decompress(content, target).map_err(|e| named(&e)),
            Compressor::Zstd => self.zstd.decompress(content, target).map_err(|e| named(&e)),
        }
    }
}
