//! The comparison of a collection's declared options with the existing ones. No I/O.

use crate::{
    base::bson::{Bson, Document, doc},
    driver::CollectionSpecification,
    models::index::normal::{is_listed_collation, is_truthy, normal_collation, number},
    schema::{Step, deployment::Deployment, features::feature_of_change},
};

/// The step for the options of a collection. `None` if the model declares none.
pub(super) fn step(
    declared: &Document,
    listed: Option<&CollectionSpecification>,
    deployment: &Deployment,
) -> Option<Step> {
    if declared.is_empty() {
        return None;
    }
    let declared = declared.clone();
    let Some(listed) = listed else {
        return Some(Step::CreateCollection { options: declared });
    };
    let existing = listed.options.clone();
    let differences = differences(&declared, listed);
    let can_change = differences
        .iter()
        .all(|name| can_change(name, &declared, &existing));
    let mut unsupported = differences.iter().filter_map(|name| {
        let requirement = deployment.lacks(feature_of_change(name, &declared)?)?;
        Some((name.clone(), requirement))
    });
    Some(if differences.is_empty() {
        Step::KeepCollection
    } else if can_change && let Some((option, requirement)) = unsupported.next() {
        Step::UnsupportedCollectionChange {
            existing,
            declared,
            differences,
            option,
            requirement,
        }
    } else if can_change {
        Step::ModifyCollection {
            existing,
            declared,
            differences,
        }
    } else {
        Step::CollectionConflict {
            existing,
            declared,
            differences,
        }
    })
}

/// The names of the declared options that differ. Options that are not declared are not compared.
fn differences(declared: &Document, listed: &CollectionSpecification) -> Vec<String> {
    let is_view = declared.contains_key("viewOn");
    if is_view != (listed.kind == "view") {
        return vec!["viewOn".to_owned()];
    }
    let differs = |(name, value): &(&String, &Bson)| !is_equal(name, value, &listed.options);
    declared
        .iter()
        .filter(differs)
        .map(|(name, _)| name.clone())
        .collect()
}

fn is_equal(name: &str, declared: &Bson, options: &Document) -> bool {
    let existing = options.get(name);
    match (name, declared, existing) {
        ("size", declared, Some(existing)) => is_same_size(declared, existing),
        // Each declared field; the server adds others, such as `bucketMaxSpanSeconds`.
        ("timeseries", Bson::Document(declared), Some(Bson::Document(existing))) => {
            declared.iter().all(|(name, value)| {
                let default = (name == "granularity").then(|| Bson::from("seconds"));
                existing.get(name).or(default.as_ref()) == Some(value)
            })
        }
        ("clusteredIndex", Bson::Document(declared), Some(Bson::Document(existing))) => {
            let key = |index: &Document| index.get("key").map(number);
            key(declared) == key(existing)
        }
        ("collation", Bson::Document(declared), Some(Bson::Document(existing))) => {
            is_listed_collation(declared, existing)
        }
        ("collation", Bson::Document(declared), None) => normal_collation(declared).is_none(),
        ("changeStreamPreAndPostImages", declared, None) => {
            declared.as_document() == Some(&doc! { "enabled": false })
        }
        ("capped", declared, Some(existing)) => is_truthy(declared) == is_truthy(existing),
        ("capped", declared, None) => declared == &Bson::Boolean(false),
        ("validationLevel", declared, None) => declared.as_str() == Some("strict"),
        ("validationAction", declared, None) => declared.as_str() == Some("error"),
        ("validator", Bson::Document(declared), None) => declared.is_empty(),
        ("pipeline", Bson::Array(declared), None) => declared.is_empty(),
        (_, _, None) => false,
        (_, declared, Some(existing)) => number(declared) == number(existing),
    }
}

/// Servers round the size of a capped collection up to a multiple of 256.
fn is_same_size(declared: &Bson, existing: &Bson) -> bool {
    let size = |value: &Bson| number(value).as_i64();
    match (size(declared), size(existing)) {
        (Some(declared), Some(existing)) => {
            existing == declared || declared.checked_add(255).map(|size| size / 256 * 256) == Some(existing)
        }
        _ => false,
    }
}

/// Whether `collMod` changes the option.
fn can_change(name: &str, declared: &Document, existing: &Document) -> bool {
    match name {
        "validator" | "validationLevel" | "validationAction" | "changeStreamPreAndPostImages" => true,
        "viewOn" | "pipeline" => declared.contains_key("viewOn") && existing.contains_key("viewOn"),
        "expireAfterSeconds" => true,
        // MongoDB 6.0+.
        "size" | "max" => existing.get("capped").is_some_and(is_truthy),
        "timeseries" => is_coarser(declared, existing),
        _ => false,
    }
}

/// The granularities of a time series, from fine to coarse.
const GRANULARITIES: [&str; 3] = ["seconds", "minutes", "hours"];

/// The index in [`GRANULARITIES`] of a time series.
fn granularity(series: &Document) -> usize {
    let declared = series.get_str("granularity").unwrap_or("seconds");
    let index = GRANULARITIES.iter().position(|known| *known == declared);
    index.unwrap_or(GRANULARITIES.len() - 1)
}

/// Whether only the granularity of a time series differs, and is increased.
fn is_coarser(declared: &Document, existing: &Document) -> bool {
    let same = |a: &Document, b: &Document, name: &str| !a.contains_key(name) || a.get(name) == b.get(name);
    match (
        declared.get_document("timeseries"),
        existing.get_document("timeseries"),
    ) {
        (Ok(declared), Ok(existing)) => {
            same(declared, existing, "timeField")
                && same(declared, existing, "metaField")
                && granularity(declared) > granularity(existing)
        }
        _ => false,
    }
}

/// The commands `collMod` that change the options of these names. The granularity of a time series
/// is changed by commands of its own, one level each: servers refuse others.
pub(super) fn coll_mods(
    collection: &str,
    existing: &Document,
    declared: &Document,
    differences: &[String],
) -> Vec<Document> {
    let mut command = doc! { "collMod": collection };
    let mut commands = Vec::new();
    for name in differences {
        match (name.as_str(), declared.get(name)) {
            // A view is changed as a whole.
            ("viewOn" | "pipeline", _) => {
                for name in ["viewOn", "pipeline"] {
                    if let Some(value) = declared.get(name) {
                        command.insert(name, value.clone());
                    }
                }
            }
            ("timeseries", Some(Bson::Document(series))) => {
                let before = existing.get_document("timeseries").map_or(0, granularity);
                let levels = GRANULARITIES
                    .iter()
                    .take(granularity(series) + 1)
                    .skip(before + 1);
                commands
                    .extend(levels.map(
                        |level| doc! { "collMod": collection, "timeseries": { "granularity": *level } },
                    ));
            }
            ("size", Some(value)) => {
                command.insert("cappedSize", value.clone());
            }
            ("max", Some(value)) => {
                command.insert("cappedMax", value.clone());
            }
            (name, Some(value)) => {
                command.insert(name, value.clone());
            }
            (_, None) => {}
        }
    }
    if command.len() > 1 {
        commands.insert(0, command);
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::from_document;

    fn listed(options: Document) -> CollectionSpecification {
        let kind = if options.contains_key("viewOn") {
            "view"
        } else {
            "collection"
        };
        from_document(&doc! { "name": "c", "type": kind, "options": options }).expect("a specification")
    }

    fn between(declared: &Document, existing: Document) -> Step {
        on(declared, existing, 27)
    }

    fn on(declared: &Document, existing: Document, wire_version: i32) -> Step {
        let deployment = Deployment::new(wire_version, false, false);
        step(declared, Some(&listed(existing)), &deployment).expect("options are declared")
    }

    #[test]
    fn changes_that_the_server_cannot_make_are_not_planned() {
        let capped = |size: i64| doc! { "capped": true, "size": size };
        assert!(matches!(
            on(&capped(512), capped(256), 17),
            Step::ModifyCollection { .. }
        ));
        let old = on(&capped(512), capped(256), 13);
        assert!(
            matches!(&old, Step::UnsupportedCollectionChange { option, .. } if option == "size"),
            "{old:?}"
        );
    }

    #[test]
    fn a_granularity_is_changed_by_one_level_each() {
        let series = |granularity: &str| {
            doc! { "timeseries": { "timeField": "at", "granularity": granularity }, "expireAfterSeconds": 5 }
        };
        let differences = ["timeseries".to_owned(), "expireAfterSeconds".to_owned()];
        let level = |level: &str| doc! { "collMod": "c", "timeseries": { "granularity": level } };
        assert_eq!(
            coll_mods("c", &series("seconds"), &series("hours"), &differences),
            [
                doc! { "collMod": "c", "expireAfterSeconds": 5 },
                level("minutes"),
                level("hours")
            ]
        );
    }

    #[test]
    fn without_declared_options_there_is_no_step() {
        let new = Deployment::new(27, false, false);
        assert_eq!(step(&Document::new(), None, &new), None);
        assert_eq!(
            step(&Document::new(), Some(&listed(doc! { "capped": true })), &new),
            None
        );
        let declared = doc! { "capped": true, "size": 100_i64 };
        assert!(matches!(
            step(&declared, None, &new),
            Some(Step::CreateCollection { .. })
        ));
    }

    #[test]
    fn what_the_server_adds_does_not_differ() {
        let cases = [
            (
                doc! { "capped": true, "size": 100_i64 },
                doc! { "capped": true, "size": 256, "max": 5 },
            ),
            (
                doc! { "timeseries": { "timeField": "at" } },
                doc! { "timeseries": { "timeField": "at", "granularity": "seconds", "bucketMaxSpanSeconds": 3600 } },
            ),
            (
                doc! { "clusteredIndex": { "key": { "_id": 1 }, "unique": true, "name": "_id_" } },
                doc! { "clusteredIndex": { "v": 2, "key": { "_id": 1 }, "name": "_id_", "unique": true } },
            ),
            (
                doc! { "collation": { "locale": "en" } },
                doc! { "collation": { "locale": "en", "strength": 3, "caseLevel": false, "version": "57.1" }, "storageEngine": {} },
            ),
            (doc! { "validationLevel": "strict" }, doc! {}),
            (
                doc! { "viewOn": "a", "pipeline": [] },
                doc! { "viewOn": "a", "pipeline": [] },
            ),
            (
                doc! { "expireAfterSeconds": 5_i64 },
                doc! { "expireAfterSeconds": 5 },
            ),
        ];
        for (declared, existing) in cases {
            assert_eq!(between(&declared, existing), Step::KeepCollection, "{declared}");
        }
    }

    #[test]
    fn coll_mod_changes_some_options() {
        let schema = |ty: &str| doc! { "validator": { "$jsonSchema": { "bsonType": ty } } };
        let Step::ModifyCollection {
            declared,
            differences,
            ..
        } = between(&schema("object"), schema("array"))
        else {
            panic!("no change");
        };
        assert_eq!(
            coll_mods("c", &Document::new(), &declared, &differences),
            [doc! { "collMod": "c", "validator": { "$jsonSchema": { "bsonType": "object" } } }]
        );
        let series =
            |granularity: &str| doc! { "timeseries": { "timeField": "at", "granularity": granularity } };
        assert!(matches!(
            between(&series("hours"), series("minutes")),
            Step::ModifyCollection { .. }
        ));
        let view = |stage: &str| doc! { "viewOn": "a", "pipeline": [{ stage: 1 }] };
        let Step::ModifyCollection {
            declared,
            differences,
            ..
        } = between(&view("$limit"), view("$skip"))
        else {
            panic!("no change");
        };
        assert_eq!(
            coll_mods("v", &Document::new(), &declared, &differences),
            [doc! { "collMod": "v", "viewOn": "a", "pipeline": [{ "$limit": 1 }] }]
        );
    }

    #[test]
    fn other_differences_are_conflicts() {
        let series =
            |granularity: &str| doc! { "timeseries": { "timeField": "at", "granularity": granularity } };
        let cases = [
            (doc! { "capped": true, "size": 100_i64 }, doc! {}),
            (series("minutes"), series("hours")),
            (series("minutes"), doc! {}),
            (doc! { "collation": { "locale": "en" } }, doc! {}),
            (doc! { "viewOn": "a", "pipeline": [] }, doc! { "capped": true }),
            (doc! { "capped": true }, doc! { "viewOn": "a", "pipeline": [] }),
        ];
        for (declared, existing) in cases {
            let step = between(&declared, existing);
            assert!(matches!(step, Step::CollectionConflict { .. }), "{step:?}");
        }
    }
}
