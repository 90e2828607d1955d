//! The limits of the codec: nesting depth and document size.

use super::error::EncodeError;

/// Maximum nesting of documents and arrays, including the outermost document, for decoding, and for
/// encoding without serde.
///
/// MongoDB documents 100 levels as its limit. Its servers accept 180 in stored documents and 200 in
/// commands by default (`maxBSONDepth`). The limit bounds recursion, so that decoding does not need
/// more than the 2 MiB of stack that threads usually have, also in unoptimized builds.
///
/// 100 levels are the limit of what is encoded by its `Serialize` implementation: documents that are
/// inserted or replaced, and the results of [`to_vec`](super::to_vec), [`append`](super::append),
/// [`to_document`](super::to_document) and [`to_bson`](super::to_bson). A value that is encoded can
/// therefore be decoded as any type. Raw documents in it are copied without a limit.
///
/// 100 levels are also the limit of a value that is read through crate bson or through a buffer of
/// serde: a field of type [`Bson`](super::Bson) or [`Document`](super::Document) without
/// [`exact`](super::exact), and a field of a type that is flattened, tagged or untagged. Crate bson
/// takes about 10 KiB of stack per level in unoptimized builds. The scope of a
/// [`JavaScriptCodeWithScope`](super::JavaScriptCodeWithScope) counts as two levels there and in
/// encoding.
pub const MAX_DEPTH: u8 = 200;

/// Maximum nesting of a value that is passed to a reader of any type, such as crate bson's, and of a
/// value that is encoded by its `Serialize` implementation.
pub(super) const MAX_DEPTH_OF_ANY: u8 = 100;

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
