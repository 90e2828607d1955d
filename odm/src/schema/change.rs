//! What `collMod` changes in an existing index. No I/O.

use crate::bson::{Bson, Document, doc};
use crate::error::IndexChange;
use crate::index::normal::NormalIndex;

const EXPIRE_AFTER: &str = "expireAfterSeconds";

impl IndexChange {
    /// The options of `collMod` for the index. A change to unique has the last step of its two here.
    pub(super) fn options(&self) -> Document {
        match self {
            IndexChange::ExpireAfter { seconds, .. } => doc! { EXPIRE_AFTER: *seconds },
            IndexChange::Hidden(hidden) => doc! { "hidden": *hidden },
            IndexChange::Unique => doc! { "unique": true },
            IndexChange::PrepareUnique => doc! { "prepareUnique": true },
        }
    }
}

/// The changes that make an existing index the declared one, if `collMod` can make all of them.
/// `differences` are the names of the options that differ.
pub(super) fn changes(
    differences: &[String],
    declared: &NormalIndex,
    existing: &NormalIndex,
) -> Option<Vec<IndexChange>> {
    let is_set = |index: &NormalIndex, name: &str| index.options.get(name) == Some(&Bson::Boolean(true));
    let seconds = |index: &NormalIndex| index.options.get(EXPIRE_AFTER).and_then(Bson::as_i64);
    let mut changes = Vec::new();
    for name in differences {
        match name.as_str() {
            EXPIRE_AFTER => changes.push(IndexChange::ExpireAfter {
                seconds: seconds(declared)?,
                before: seconds(existing),
            }),
            "hidden" => changes.push(IndexChange::Hidden(is_set(declared, "hidden"))),
            "unique" if is_set(declared, "unique") => changes.push(IndexChange::Unique),
            // Left by an interrupted change to unique, which is made again.
            "prepareUnique" if is_set(declared, "unique") => {}
            _ => return None,
        }
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::normal::normalize;

    fn between(existing: &Document, declared: &Document) -> Option<Vec<IndexChange>> {
        let (existing, declared) = (normalize(existing), normalize(declared));
        changes(&declared.differences(&existing), &declared, &existing)
    }

    #[test]
    fn coll_mod_changes_three_options() {
        let plain = doc! { "key": { "a": 1 } };
        let hidden = doc! { "key": { "a": 1 }, "hidden": true };
        let unique = doc! { "key": { "a": 1 }, "unique": true };
        let expiring = |seconds: i32| doc! { "key": { "a": 1 }, "expireAfterSeconds": seconds };
        assert_eq!(between(&plain, &hidden), Some(vec![IndexChange::Hidden(true)]));
        assert_eq!(between(&hidden, &plain), Some(vec![IndexChange::Hidden(false)]));
        assert_eq!(between(&plain, &unique), Some(vec![IndexChange::Unique]));
        let prepared = doc! { "key": { "a": 1 }, "prepareUnique": true };
        assert_eq!(between(&prepared, &unique), Some(vec![IndexChange::Unique]));
        assert_eq!(between(&unique, &plain), None, "only a new index is not unique");
        assert_eq!(between(&expiring(1), &plain), None);
        for (existing, seconds, deletes) in
            [(plain, 5, true), (expiring(9), 5, true), (expiring(1), 5, false)]
        {
            let found = between(&existing, &expiring(seconds)).unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].deletes_documents(), deletes, "{}", found[0]);
        }
        let sparse = doc! { "key": { "a": 1 }, "sparse": true, "hidden": true };
        assert_eq!(between(&doc! { "key": { "a": 1 } }, &sparse), None);
    }
}
