//! Room for what is to come: empty documents and buffers that need not grow soon.

use std::sync::LazyLock;

use super::{Bson, Document};

/// How many elements the map in a document has room for, at each of its sizes: seven eighths of a power of two,
/// but one less than four in the smallest.
const SIZES: [usize; 7] = [0, 3, 7, 14, 28, 56, 112];

/// More elements than this need not be counted.
pub(super) const MOST: usize = 112;

/// Crate bson lets nobody reserve room in a document. But a copy of a document that had elements once has that room,
/// and needs no new keys for its hashes either.
static EMPTIED: LazyLock<[Document; SIZES.len()]> = LazyLock::new(|| SIZES.map(emptied));

fn emptied(count: usize) -> Document {
    let mut document: Document = (0..count).map(|n| (n.to_string(), Bson::Null)).collect();
    document.clear();
    document
}

/// From this size on, what a buffer has to grow for decides its capacity.
const LARGE: usize = 64 << 10;

/// What usually follows something large: the rest of its document, and of the message.
const FOLLOWING: usize = 16 << 10;

/// Appends bytes that may be many. Grown for them alone, the buffer would be full, and the next small field would make it twice
/// as large, with all that it holds moved to new pages.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() >= LARGE {
        out.reserve(bytes.len() + FOLLOWING);
    }
    out.extend_from_slice(bytes);
}

/// An empty document that takes so many elements without growing, or [`MOST`].
pub(super) fn document_for(count: usize) -> Document {
    let emptied = EMPTIED.iter().zip(SIZES).find(|(_, room)| *room >= count);
    emptied.map_or_else(Document::new, |(document, _)| document.clone())
}
