//! Empty documents with room for what is to come.

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

/// An empty document that takes so many elements without growing, or [`MOST`].
pub(super) fn document_for(count: usize) -> Document {
    let emptied = EMPTIED.iter().zip(SIZES).find(|(_, room)| *room >= count);
    emptied.map_or_else(Document::new, |(document, _)| document.clone())
}
