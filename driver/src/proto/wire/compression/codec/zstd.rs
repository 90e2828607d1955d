//! Zstandard, at its own default level.

use zstd::{
    DEFAULT_COMPRESSION_LEVEL,
    bulk::{Compressor, Decompressor},
    zstd_safe::{compress_bound, get_frame_content_size},
};

use super::{Codec, wrong_size};

/// Zstandard.
pub(super) struct Zstd;

impl Codec for Zstd {
    type Packer = Compressor<'static>;
    type Unpacker = Decompressor<'static>;

    fn packer(_: i32) -> Result<Compressor<'static>, String> {
        Compressor::new(DEFAULT_COMPRESSION_LEVEL).map_err(|error| error.to_string())
    }

    fn unpacker() -> Result<Decompressor<'static>, String> {
        Decompressor::new().map_err(|error| error.to_string())
    }

    fn bound(size: usize) -> usize {
        compress_bound(size)
    }

    fn compress(
        packer: &mut Compressor<'static>,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<usize, String> {
        packer
            .compress_to_buffer(content, target)
            .map_err(|error| error.to_string())
    }

    fn check(content: &[u8], size: usize) -> Result<(), String> {
        match get_frame_content_size(content) {
            // A frame need not state its size, and nothing limits how much a few bytes can become.
            Ok(None) => Ok(()),
            Ok(Some(stated)) if u64::try_from(size) == Ok(stated) => Ok(()),
            Ok(Some(stated)) => Err(wrong_size(stated, size)),
            Err(_) => Err("it does not begin as it must".to_owned()),
        }
    }

    fn decompress(
        unpacker: &mut Decompressor<'static>,
        content: &[u8],
        target: &mut [u8],
    ) -> Result<(), String> {
        match unpacker.decompress_to_buffer(content, target) {
            Ok(size) if size == target.len() => Ok(()),
            Ok(size) => Err(wrong_size(size, target.len())),
            Err(error) => Err(error.to_string()),
        }
    }
}
