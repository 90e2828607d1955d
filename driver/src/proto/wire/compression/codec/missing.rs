//! Replaces a compressor whose feature is disabled. It is not offered to servers, so its errors do
//! not occur.

use std::fmt;

use super::Codec;

/// A compressor whose feature is disabled.
pub(super) struct Missing;

#[cfg(not(feature = "snappy"))]
pub(super) use Missing as Snappy;
#[cfg(not(feature = "zlib"))]
pub(super) use Missing as Zlib;
#[cfg(not(feature = "zstd"))]
pub(super) use Missing as Zstd;

/// The feature of the compressor is disabled.
#[derive(Debug)]
pub(super) struct FeatureOff;

impl fmt::Display for FeatureOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the feature of this compressor is disabled")
    }
}

impl Codec for Missing {
    type Error = FeatureOff;
    type Packer = ();
    type Unpacker = ();

    fn packer(_: i32) -> Result<(), FeatureOff> {
        Err(FeatureOff)
    }

    fn unpacker() -> Result<(), FeatureOff> {
        Err(FeatureOff)
    }

    fn bound(_: usize) -> usize {
        0
    }

    fn compress((): &mut (), _: &[u8], _: &mut [u8]) -> Result<usize, FeatureOff> {
        Err(FeatureOff)
    }

    fn check(_: &[u8], _: usize) -> Result<(), FeatureOff> {
        Err(FeatureOff)
    }

    fn decompress((): &mut (), _: &[u8], _: &mut [u8]) -> Result<(), FeatureOff> {
        Err(FeatureOff)
    }
}
