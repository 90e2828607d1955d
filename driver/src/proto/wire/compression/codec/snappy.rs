//! Snappy, its format without frames.

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use super::{Codec, wrong_size};

/// Three bytes can repeat at most 64 earlier ones.
const MOST_PER_BYTE: usize = 22;

/// Snappy.
pub(super) struct Snappy;

impl Codec for Snappy {
    type Packer = Encoder;
    type Unpacker = Decoder;

    fn packer(_: i32) -> Result<Encoder, String> {
        Ok(Encoder::new())
    }

    fn unpacker() -> Result<Decoder, String> {
        Ok(Decoder::new())
    }

    fn bound(size: usize) -> usize {
        max_compress_len(size)
    }

    fn compress(packer: &mut Encoder, content: &[u8], target: &mut [u8]) -> Result<usize, String> {
        packer
            .compress(content, target)
            .map_err(|error| error.to_string())
    }

    fn check(content: &[u8], size: usize) -> Result<(), String> {
        let stated = decompress_len(content).map_err(|error| error.to_string())?;
        if stated != size {
            return Err(wrong_size(stated, size));
        }
        if size > content.len().saturating_mul(MOST_PER_BYTE) {
            return Err(format!("{} bytes cannot become {size}", content.len()));
        }
        Ok(())
    }

    fn decompress(unpacker: &mut Decoder, content: &[u8], target: &mut [u8]) -> Result<(), String> {
        match unpacker.decompress(content, target) {
            Ok(size) if size == target.len() => Ok(()),
            Ok(size) => Err(wrong_size(size, target.len())),
            Err(error) => Err(error.to_string()),
        }
    }
}
