//! Zlib: deflate with a zlib header and a checksum.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use std::fmt;

use super::Codec;

/// The maximum expansion of deflate: two bits repeat at most 258 bytes.
const MAX_EXPANSION: usize = 1_032;

/// The compressor `zlib`.
pub(super) struct Zlib;

/// An error of compression or decompression.
#[derive(Debug)]
pub(super) enum ZlibError {
    /// The error of the library.
    Library(String),
    /// `uncompressedSize` differs from the size of the content.
    WrongSize { found: usize, claimed: usize },
    /// `uncompressedSize` exceeds the maximum expansion.
    Expansion { content: usize, claimed: usize },
    /// The content decompresses to more than `uncompressedSize` bytes.
    TooLarge { claimed: usize },
    /// The compressed bytes exceed the bound.
    TargetTooSmall,
    /// Bytes follow the end of the stream.
    TrailingBytes(usize),
    /// The stream ends before its last block.
    Truncated,
}

impl fmt::Display for ZlibError {
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
            Self::TooLarge { claimed } => {
                write!(
                    f,
                    "it decompresses to more than {claimed} bytes, its uncompressedSize"
                )
            }
            Self::TargetTooSmall => f.write_str("the compressed bytes exceed the bound of the format"),
            Self::TrailingBytes(count) => write!(f, "{count} bytes follow its end"),
            Self::Truncated => f.write_str("it ends too early"),
        }
    }
}

impl Codec for Zlib {
    type Error = ZlibError;
    type Packer = Compress;
    type Unpacker = Decompress;

    fn packer(level: i32) -> Result<Compress, ZlibError> {
        let level = match u32::try_from(level) {
            Ok(level) => Compression::new(level.min(9)),
            Err(_) => Compression::default(),
        };
        Ok(Compress::new(level, true))
    }

    fn unpacker() -> Result<Decompress, ZlibError> {
        Ok(Decompress::new(true))
    }

    fn bound(size: usize) -> usize {
        // Covers stored blocks and inefficient codes. Generous, because the buffer is kept between
        // messages.
        size + size / 8 + 256
    }

    fn compress(packer: &mut Compress, content: &[u8], target: &mut [u8]) -> Result<usize, ZlibError> {
        packer.reset();
        match packer.compress(content, target, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Ok(usize::try_from(packer.total_out()).unwrap_or(usize::MAX)),
            Ok(_) => Err(ZlibError::TargetTooSmall),
            Err(error) => Err(ZlibError::Library(error.to_string())),
        }
    }

    fn check(content: &[u8], size: usize) -> Result<(), ZlibError> {
        if size > content.len().saturating_mul(MAX_EXPANSION) {
            return Err(ZlibError::Expansion {
                content: content.len(),
                claimed: size,
            });
        }
        Ok(())
    }

    fn decompress(unpacker: &mut Decompress, content: &[u8], target: &mut [u8]) -> Result<(), ZlibError> {
        unpacker.reset(true);
        let status = unpacker
            .decompress(content, target, FlushDecompress::Finish)
            .map_err(|error| ZlibError::Library(error.to_string()))?;
        let count = |total: u64| usize::try_from(total).unwrap_or(usize::MAX);
        let (read, written) = (count(unpacker.total_in()), count(unpacker.total_out()));
        match status {
            Status::StreamEnd if written != target.len() => Err(ZlibError::WrongSize {
                found: written,
                claimed: target.len(),
            }),
            Status::StreamEnd if read < content.len() => Err(ZlibError::TrailingBytes(content.len() - read)),
            Status::StreamEnd => Ok(()),
            _ if written == target.len() && read < content.len() => Err(ZlibError::TooLarge {
                claimed: target.len(),
            }),
            _ => Err(ZlibError::Truncated),
        }
    }
}
