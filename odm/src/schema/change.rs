//! What `collMod` changes in an existing index. No I/O.

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::IndexChange,
    },
    models::index::normal::NormalIndex,
    schema::deployment::{Deployment, Feature},
};

const EXPIRE_AFTER: &str = "expireAfterSeconds";

impl IndexChange {
    /// The name of the option that changes.
    pub(super) fn option(&self) -> &'static str {
        match self {
            IndexChange::ExpireAfter { .. } => EXPIRE_AFTER,
            IndexChange::Hidden(_) => "hidden",
            IndexChange::Unique => "unique",
            IndexChange::PrepareUnique => "prepareUnique",
        }
    }

    /// The options of `collMod` for the index. A change to unique has the last step of its two
    /// here.
    pub(super) fn options(&self) -> Document {
        match self {
            IndexChange::ExpireAfter { seconds, .. } => doc! { EXPIRE_AFTER: *seconds },
            IndexChange::Hidden(hidden) => doc! { "hidden": *hidden },
            IndexChange::Unique => doc! { "unique": true },
            IndexChange::PrepareUnique => doc! { "prepareUnique": true },
        }
    }
}

/// The changes that make an existing index the declared one, if `collMod` of the deployment can
/// make all of them. `differences` are the names of the options that differ.
pub(super) fn changes(
    differences: &[String],
    declared: &NormalIndex,
    existing: &NormalIndex,
    deployment: &Deployment,
) -> Option<Vec<IndexChange>> {
    let is_set = |index: &NormalIndex, name: &str| index.options.get(name) == Some(&Bson::Boolean(true));
    let seconds = |index: &NormalIndex| index.options.get(EXPIRE_AFTER).and_then(Bson::as_i64);
    let mut changes = Vec::new();
    for name in differences {
        let needed = match name.as_str() {
            EXPIRE_AFTER if seconds(existing).is_none() => Some(Feature::ADDED_EXPIRATION),
            "hidden" => Some(Feature::HIDDEN),
            "unique" => Some(Feature::CHANGE_TO_UNIQUE),
            _ => None,
        };
        if needed.is_some_and(|feature| !deployment.has(feature)) {
            return None;
        }
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
    use crate::models::index::normal::normalize_listed;

    fn between(existing: &Document, declared: &Document) -> Option<Vec<IndexChange>> {
        on(&Deployment::new(27, false, false), existing, declared)
    }

    fn on(deployment: &Deployment, existing: &Document, declared: &Document) -> Option<Vec<IndexChange>> {
        let (existing, declared) = (normalize_listed(existing), normalize_listed(declared));
        changes(&declared.differences(&existing), &declared, &existing, deployment)
    }

    #[test]
    fn changes_that_the_server_cannot_make_are_rebuilds() {
        let plain = doc! { "key": { "a": 1 } };
        let unique = doc! { "key": { "a": 1 }, "unique": true };
        let hidden = doc! { "key": { "a": 1 }, "hidden": true };
        let expiring = |seconds: i32| doc! { "key": { "a": 1 }, "expireAfterSeconds": seconds };
        let can = |wire_version, existing: &Document, declared: &Document| {
            on(&Deployment::new(wire_version, false, false), existing, declared).is_some()
        };
        assert!(can(17, &plain, &unique) && !can(16, &plain, &unique));
        assert!(can(9, &plain, &hidden) && !can(8, &plain, &hidden));
        assert!(can(14, &plain, &expiring(5)) && !can(13, &plain, &expiring(5)));
        assert!(can(8, &expiring(9), &expiring(5)));
        let strict = Deployment::new(27, false, true);
        assert!(on(&strict, &plain, &unique).is_none() && on(&strict, &plain, &hidden).is_some());
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
