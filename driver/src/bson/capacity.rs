//! Capacity reserved in documents and buffers, so that they rarely grow.

use std::sync::LazyLock;

use super::{Bson, Document};

/// Capacities of the map inside a [`Document`]: seven eighths of a power of two, and three for the
/// smallest map.
const CAPACITIES: [usize; 7] = [0, 3, 7, 14, 28, 56, 112];

/// Largest number of elements that [`document_for`] distinguishes.
pub(super) const MAX_ELEMENTS: usize = 112;

/// One empty document per capacity. Crate bson offers no `with_capacity` for documents, but a clone
/// of a cleared document keeps the capacity, and its hasher.
static EMPTY: LazyLock<[Document; CAPACITIES.len()]> = LazyLock::new(|| CAPACITIES.map(with_capacity));

fn with_capacity(elements: usize) -> Document {
    let mut document: Document = (0..elements).map(|n| (n.to_string(), Bson::Null)).collect();
    document.clear();
    document
}

/// Values of at least this size reserve more than themselves.
const LARGE: usize = 64 << 10;

/// Bytes reserved after a large value: for the rest of its document and of the message.
const RESERVED_AFTER: usize = 16 << 10;

/// Appends `bytes`.
///
/// A buffer grown to exactly the end of a large value would double its size, and be copied, for the
/// next small field.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() >= LARGE {
        out.reserve(bytes.len() + RESERVED_AFTER);
    }
    out.extend_from_slice(bytes);
}

/// An empty document with the capacity of the smallest map: three elements.
#[inline]
pub(super) fn document_for_few() -> Document {
    let [_, few, ..] = &*EMPTY;
    few.clone()
}

/// An empty document that holds `elements` elements without growing; [`MAX_ELEMENTS`] at most.
pub(super) fn document_for(elements: usize) -> Document {
    let empty = EMPTY
        .iter()
        .zip(CAPACITIES)
        .find(|(_, capacity)| *capacity >= elements);
    empty.map_or_else(Document::new, |(document, _)| document.clone())
}
