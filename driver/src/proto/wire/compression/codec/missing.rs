//! Stands in for a compressor whose feature is off. It is never offered, so nobody gets as far as its errors.

use super::Codec;

/// A compressor that is not there.
pub(super) struct Missing;

#[cfg(not(feature = "snappy"))]
pub(super) use Missing as Snappy;
#[cfg(not(feature = "zlib"))]
pub(super) use Missing as Zlib;
#[cfg(not(feature = "zstd"))]
pub(super) use Missing as Zstd;

fn refusal<T>() -> Result<T, String> {
    Err("the feature of this name is off".to_owned())
}

impl Codec for Missing {
    type Packer = ();
    type Unpacker = ();

    fn packer(_: i32) -> Result<(), String> {
        refusal()
    }

    fn unpacker() -> Result<(), String> {
        refusal()
    }

    fn bound(_: usize) -> usize {
        0
    }

    fn compress((): &mut (), _: &[u8], _: &mut [u8]) -> Result<usize, String> {
        refusal()
    }

    fn check(_: &[u8], _: usize) -> Result<(), String> {
        refusal()
    }

    fn decompress((): &mut (), _: &[u8], _: &mut [u8]) -> Result<(), String> {
        refusal()
    }
}
