//! Zstandard at level 3, its default.

use zstd::{
    DEFAULT_COMPRESSION_LEVEL,
    bulk::{Compressor, Decompressor},
    zstd_safe::{compress_bound, get_frame_content_size},
};

use std::{fmt, io};

use super::Codec;

/// The compressor `zstd`.
pub(super) struct Zstd;

/// An error of compression or decompression.
#[derive(Debug)]
pub(super) enum ZstdError {
    /// The error of the library.
    Library(io::Error),
    /// `uncompressedSize` differs from the size in the frame header.
    WrongSize { found: u64, claimed: usize },
    /// The frame header is malformed.
    InvalidFrame,
}

impl fmt::Display for ZstdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::WrongSize { found, claimed } => {
                write!(
                    f,
                    "it decompresses to {found} bytes, but uncompressedSize is {claimed}"
                )
            }
            Self::InvalidFrame => f.write_str("its frame header is malformed"),
        }
    }
}

impl Codec for Zstd {
    type Error = ZstdError;
    type Packer = Compressor<'static>;
    type Unpacker = Decompressor<'static>;

    fn packer(_: i32) -> Result<Compressor<'static>, ZstdError> {
        Compressor::new(DEFAULT_COMPRESSION_LEVEL).map_err(ZstdError::Library)
    }

    fn unpacker() -> Result<Decompressor<'static>, ZstdError> {
        Decompressor::new().map_err(ZstdError::Library)
    }

    fn bound(size: usize) -> usize {
        compress_bound(size)
    }

    fn compress(
        packer: &mut Compressor<'static>,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<usize, ZstdError> {
        packer
            .compress_to_buffer(content, target)
            .map_err(ZstdError::Library)
    }

    fn check(content: &[u8], size: usize) -> Result<(), ZstdError> {
        match get_frame_content_size(content) {
            // A frame need not contain its size, and the expansion of zstd has no limit.
            Ok(None) => Ok(()),
            Ok(Some(stated)) if u64::try_from(size) == Ok(stated) => Ok(()),
            Ok(Some(stated)) => Err(ZstdError::WrongSize {
                found: stated,
                claimed: size,
            }),
            Err(_) => Err(ZstdError::InvalidFrame),
        }
    }

    fn decompress(
        unpacker: &mut Decompressor<'static>,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<(), ZstdError> {
        match unpacker.decompress_to_buffer(content, target) {
            Ok(size) if size == target.len() => Ok(()),
            Ok(size) => Err(ZstdError::WrongSize {
                found: size as u64,
                claimed: target.len(),
            }),
            Err(error) => Err(ZstdError::Library(error)),
        }
    }
}
