//! The bounds the codec keeps: nesting depth, document sizes, and how both are checked.

use super::error::EncodeError;

/// How deep documents and arrays may nest, the outermost document included, in both directions.
///
/// Servers accept 100 levels in stored documents and 180 in commands; 200 leaves room for replies
/// that wrap such documents and bounds recursion. A [`Document`](super::Document) read through serde
/// takes about 10 KiB of stack per level in unoptimised builds, most of it in crate bson;
/// [`decode_document`](super::decode_document) and
/// [`from_slice_owned`](super::from_slice_owned) take far less.
pub const MAX_DEPTH: u8 = 200;

/// The smallest document: a length and the terminating zero byte.
pub(crate) const MIN_DOCUMENT: usize = 5;

/// A length as the 32-bit integer that BSON stores, or an error when it does not fit.
#[inline]
pub(crate) fn length(len: usize) -> Result<i32, EncodeError> {
    i32::try_from(len).map_err(|_| too_large())
}

#[cold]
fn too_large() -> EncodeError {
    EncodeError::new("the value is larger than the 2 GiB a BSON length can state")
}
