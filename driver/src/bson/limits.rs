//! The limits of the codec: nesting depth and document size.

use super::error::EncodeError;

/// Maximum nesting of documents and arrays, including the outermost document, for encoding and
/// decoding.
///
/// Servers accept 100 levels in stored documents and 180 in commands; replies nest such documents
/// further. The limit bounds recursion. A [`Document`](super::Document) read through serde takes
/// about 10 KiB of stack per level in unoptimized builds, most of it in crate bson;
/// [`decode_document`](super::decode_document) and [`from_slice_owned`](super::from_slice_owned)
/// take far less.
pub const MAX_DEPTH: u8 = 200;

/// The smallest document: a length and the terminating zero byte.
pub(crate) const MIN_DOCUMENT: usize = 5;

/// Converts a length to the 32-bit integer of the format.
#[inline]
pub(crate) fn length(len: usize) -> Result<i32, EncodeError> {
    i32::try_from(len).map_err(|_| too_large())
}

#[cold]
fn too_large() -> EncodeError {
    EncodeError::new("the value is larger than 2 GiB, the maximum length in BSON")
}
