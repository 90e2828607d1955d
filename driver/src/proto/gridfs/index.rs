//! Whether an index exists already ("Before write operations").

use super::number::integer;
use crate::bson::{Bson, Document};

/// Whether one of the key patterns is equal to `wanted`. Numbers are compared "by value even when
/// they are of different types"; the order of the fields is significant.
pub fn has_index<'a>(existing: impl IntoIterator<Item = &'a Document>, wanted: &Document) -> bool {
    existing.into_iter().any(|keys| {
        keys.len() == wanted.len()
            && keys
                .iter()
                .zip(wanted)
                .all(|((name, kind), (field, direction))| name == field && is_equal(kind, direction))
    })
}

fn is_equal(a: &Bson, b: &Bson) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
