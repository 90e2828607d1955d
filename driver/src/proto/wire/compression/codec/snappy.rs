//! Snappy in its raw format, without framing.

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use std::fmt;

use super::Codec;

/// The maximum expansion: a copy element of three bytes yields at most 64 bytes.
const MAX_EXPANSION: usize = 22;

/// The compressor `snappy`.
pub(super) struct Snappy;

/// An error of compression or decompression.
#[derive(Debug)]
pub(super) enum SnappyError {
    /// The error of the library.
    Library(snap::Error),
    /// `uncompressedSize` differs from the size in the content.
    WrongSize { found: usize, claimed: usize },
    /// `uncompressedSize` exceeds the maximum expansion.
    Expansion { content: usize, claimed: usize },
}

impl fmt::Display for SnappyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::WrongSize { found, claimed } => {
                write!(
                    f,
                    "it decompresses to {found} bytes, but uncompressedSize is {claimed}"
                )
            }
            Self::Expansion { content, claimed } => {
                write!(f, "{content} bytes cannot decompress to {claimed} bytes")
            }
        }
    }
}

impl Codec for Snappy {
    type Error = SnappyError;
    type Packer = Encoder;
    type Unpacker = Decoder;

    fn packer(_: i32) -> Result<Encoder, SnappyError> {
        Ok(Encoder::new())
    }

    fn unpacker() -> Result<Decoder, SnappyError> {
        Ok(Decoder::new())
    }

    fn bound(size: usize) -> usize {
        max_compress_len(size)
    }

    fn compress(packer: &mut Encoder, content: &[u8], target: &mut [u8]) -> Result<usize, SnappyError> {
        packer.compress(content, target).map_err(SnappyError::Library)
    }

    fn check(content: &[u8], size: usize) -> Result<(), SnappyError> {
        let stated = decompress_len(content).map_err(SnappyError::Library)?;
        if stated != size {
            return Err(SnappyError::WrongSize {
                found: stated,
                claimed: size,
            });
        }
        if size > content.len().saturating_mul(MAX_EXPANSION) {
            return Err(SnappyError::Expansion {
                content: content.len(),
                claimed: size,
            });
        }
        Ok(())
    }

    fn decompress(unpacker: &mut Decoder, content: &[u8], target: &mut [u8]) -> Result<(), SnappyError> {
        match unpacker.decompress(content, target) {
            Ok(size) if size == target.len() => Ok(()),
            Ok(size) => Err(SnappyError::WrongSize {
                found: size,
                claimed: target.len(),
            }),
            Err(error) => Err(SnappyError::Library(error)),
        }
    }
}
