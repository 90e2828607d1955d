//! The compressors behind one interface, each with memory that is kept between messages.

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

use crate::types::compressor::Compressor;

/// One compressor. The errors say what is wrong with the bytes, or with the library.
trait Codec: Sized {
    /// What is kept between messages to compress.
    type Packer;
    /// What is kept between messages to decompress.
    type Unpacker;

    /// `level` means something to zlib only.
    fn packer(level: i32) -> Result<Self::Packer, String>;

    fn unpacker() -> Result<Self::Unpacker, String>;

    /// The most bytes that `size` bytes can become.
    fn bound(size: usize) -> usize;

    /// Compresses into the beginning of `target` and returns the number of bytes there.
    fn compress(packer: &mut Self::Packer, content: &[u8], target: &mut [u8]) -> Result<usize, String>;

    /// Refuses content that cannot become `size` bytes, before they are allocated.
    fn check(content: &[u8], size: usize) -> Result<(), String>;

    /// Decompresses all of `content` into all of `target`.
    fn decompress(unpacker: &mut Self::Unpacker, content: &[u8], target: &mut [u8]) -> Result<(), String>;
}

/// The memory of one compressor, made when it is first needed.
struct Kept<C: Codec> {
    packer: Option<Box<C::Packer>>,
    unpacker: Option<Box<C::Unpacker>>,
}

impl<C: Codec> Default for Kept<C> {
    fn default() -> Self {
        Self {
            packer: None,
            unpacker: None,
        }
    }
}

impl<C: Codec> Kept<C> {
    fn compress(&mut self, level: i32, content: &[u8], target: &mut [u8]) -> Result<usize, String> {
        let packer = match &mut self.packer {
            Some(packer) => packer,
            empty => empty.insert(Box::new(C::packer(level)?)),
        };
        C::compress(packer, content, target)
    }

    fn decompress(&mut self, content: &[u8], target: &mut [u8]) -> Result<(), String> {
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            empty => empty.insert(Box::new(C::unpacker()?)),
        };
        C::decompress(unpacker, content, target)
    }
}

/// All compressors of a connection.
pub(super) struct Codecs {
    zlib_level: i32,
    snappy: Kept<snappy::Snappy>,
    zlib: Kept<zlib::Zlib>,
    zstd: Kept<zstd::Zstd>,
}

impl std::fmt::Debug for Codecs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codecs")
            .field("zlib_level", &self.zlib_level)
            .finish_non_exhaustive()
    }
}

impl Codecs {
    pub(super) fn new(zlib_level: i32) -> Self {
        Self {
            zlib_level,
            snappy: Kept::default(),
            zlib: Kept::default(),
            zstd: Kept::default(),
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
    ) -> Result<usize, String> {
        let level = self.zlib_level;
        match compressor {
            Compressor::Snappy => self.snappy.compress(level, content, target),
            Compressor::Zlib => self.zlib.compress(level, content, target),
            Compressor::Zstd => self.zstd.compress(level, content, target),
        }
    }

    pub(super) fn check(compressor: Compressor, content: &[u8], size: usize) -> Result<(), String> {
        match compressor {
            Compressor::Snappy => snappy::Snappy::check(content, size),
            Compressor::Zlib => zlib::Zlib::check(content, size),
            Compressor::Zstd => zstd::Zstd::check(content, size),
        }
    }

    pub(super) fn decompress(
        &mut self,
        compressor: Compressor,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<(), String> {
        match compressor {
            Compressor::Snappy => self.snappy.decompress(content, target),
            Compressor::Zlib => self.zlib.decompress(content, target),
            Compressor::Zstd => self.zstd.decompress(content, target),
        }
    }
}

/// Content that becomes another number of bytes than its frame claims.
#[cfg(any(feature = "snappy", feature = "zlib", feature = "zstd"))]
fn wrong_size(found: impl std::fmt::Display, claimed: usize) -> String {
    format!("it decompresses to {found} bytes, and claims {claimed}")
}
