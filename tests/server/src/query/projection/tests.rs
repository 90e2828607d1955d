//! Projection semantics.
#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are passed"
)]

use super::*;
use bson::doc;

fn project(spec: Document, document: Document) -> Document {
    let env = Env::default();
    Projection::parse_find(&spec, &env)
        .unwrap()
        .apply(&document, &env)
        .unwrap()
}

fn error(spec: Document) -> i32 {
    Projection::parse_find(&spec, &Env::default()).unwrap_err().code
}

#[test]
fn inclusion_keeps_id_and_document_order() {
    let document = doc! {"_id": 1, "a": 1, "b": 2, "c": 3};
    assert_eq!(
        project(doc! {"c": 1, "a": 1}, document.clone()),
        doc! {"_id": 1, "a": 1, "c": 3}
    );
    assert_eq!(project(doc! {"a": 1, "_id": 0}, document.clone()), doc! {"a": 1});
    assert_eq!(project(doc! {"_id": 1}, document), doc! {"_id": 1});
}

#[test]
fn exclusion() {
    let document = doc! {"_id": 1, "a": {"b": 1, "c": 2}, "d": 3};
    assert_eq!(
        project(doc! {"a.b": 0}, document.clone()),
        doc! {"_id": 1, "a": {"c": 2}, "d": 3}
    );
    assert_eq!(
        project(doc! {"_id": 0}, document),
        doc! {"a": {"b": 1, "c": 2}, "d": 3}
    );
}

#[test]
fn dotted_paths_traverse_arrays() {
    let document = doc! {"_id": 1, "a": [{"b": 1, "c": 2}, 5, {"c": 3}]};
    assert_eq!(
        project(doc! {"a.b": 1}, document.clone()),
        doc! {"_id": 1, "a": [{"b": 1}, {}]}
    );
    assert_eq!(
        project(doc! {"a": {"b": 0}}, document),
        doc! {"_id": 1, "a": [{"c": 2}, 5, {"c": 3}]}
    );
}

#[test]
fn slices() {
    let document = doc! {"_id": 1, "a": [1, 2, 3, 4], "b": 1};
    assert_eq!(
        project(doc! {"a": {"$slice": 2}}, document.clone()),
        doc! {"_id": 1, "a": [1, 2], "b": 1}
    );
    assert_eq!(
        project(doc! {"a": {"$slice": -1}}, document.clone()),
        doc! {"_id": 1, "a": [4], "b": 1}
    );
    assert_eq!(
        project(doc! {"a": {"$slice": [1, 2]}}, document.clone()),
        doc! {"_id": 1, "a": [2, 3], "b": 1}
    );
    assert_eq!(
        project(doc! {"b": 1, "a": {"$slice": [-2, 1]}}, document),
        doc! {"_id": 1, "a": [3], "b": 1}
    );
}

#[test]
fn elem_match_returns_the_first_match() {
    let document = doc! {"_id": 1, "a": [{"x": 1}, {"x": 2, "y": 1}, {"x": 2}]};
    assert_eq!(
        project(doc! {"a": {"$elemMatch": {"x": 2}}}, document.clone()),
        doc! {"_id": 1, "a": [{"x": 2, "y": 1}]}
    );
    assert_eq!(
        project(doc! {"a": {"$elemMatch": {"x": 9}}}, document),
        doc! {"_id": 1}
    );
    assert_eq!(
        project(doc! {"a": {"$elemMatch": {"$gt": 1}}}, doc! {"a": [1, 2, 3]}),
        doc! {"a": [2]}
    );
}

#[test]
fn positional() {
    let env = Env::default();
    let projection = Projection::parse_find(&doc! {"a.$": 1}, &env).unwrap();
    let filter = Filter::parse(&doc! {"a": {"$gte": 2}}, &env).unwrap();
    let document = doc! {"_id": 1, "a": [1, 2, 3], "b": 1};
    assert_eq!(
        projection.apply_matched(&document, &filter, &env).unwrap(),
        doc! {"_id": 1, "a": [2]}
    );
}

#[test]
fn computed_fields() {
    let document = doc! {"_id": 1, "a": 2, "b": {"c": 3}};
    assert_eq!(
        project(doc! {"x": "$b.c", "a": 1}, document.clone()),
        doc! {"_id": 1, "a": 2, "x": 3}
    );
    assert_eq!(
        project(doc! {"x": {"$literal": 1}}, document.clone()),
        doc! {"_id": 1, "x": 1}
    );
    assert_eq!(
        project(doc! {"b.d": {"$add": ["$a", 1]}}, document),
        doc! {"_id": 1, "b": {"d": 3}}
    );
}

#[test]
fn computed_fields_are_last() {
    let projected = project(
        doc! {"a": {"$add": ["$a", 1]}, "b": 1},
        doc! {"_id": 1, "a": 1, "b": 2},
    );
    assert_eq!(projected.keys().collect::<Vec<_>>(), ["_id", "b", "a"]);
}

#[test]
fn mixing_inclusion_and_exclusion_is_an_error() {
    assert_eq!(error(doc! {"a": 1, "b": 0}), 31254);
    assert_eq!(error(doc! {"a": 0, "b": 1}), 31253);
    assert_eq!(error(doc! {"a": 1, "a.b": 1}), 31249);
    assert_eq!(error(doc! {"a.b": 1, "a": 1}), 31250);
    assert_eq!(error(doc! {"$a": 1}), 16410);
    assert_eq!(error(doc! {"a": {"$foo": 1}}), 168);
}

#[test]
fn positional_operator_is_allowed_once_at_the_end_of_a_path() {
    assert_eq!(error(doc! {"a.$": 1, "b.$": 1}), 31276);
    assert_eq!(error(doc! {"a.$.b": 1}), 31394);
    assert_eq!(error(doc! {"a.$.$": 1}), 31287);
    assert_eq!(error(doc! {"a.$": {"$slice": 1}}), 31271);
    assert_eq!(error(doc! {"a.$": 0}), 31395);
    assert_eq!(error(doc! {"a.$": 1, "b": {"$elemMatch": {"c": 1}}}), 31255);
    assert_eq!(error(doc! {"b": {"$elemMatch": {"c": 1}}, "a.$": 1}), 31256);
    let stage = Projection::parse_stage(&doc! {"a.$": 1}, &Env::default());
    assert_eq!(stage.unwrap_err().code, 31324);
}

#[test]
fn malformed_paths() {
    assert_eq!(error(doc! {"": 1}), 40352);
    assert_eq!(error(doc! {"a.": 1}), 40353);
    assert_eq!(error(doc! {"a..b": 1}), 15998);
}
