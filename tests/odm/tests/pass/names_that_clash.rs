//! Fields with the names of operators, types with the names of generated ones, raw identifiers, a
//! renamed crate.

use marula as odm;
use odm::path::AsPath;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[document(crate = odm)]
pub(crate) struct RFields {
    eq: i32,
    set: i32,
    size: i32,
    any: i32,
    inner: i32,
    nav: i32,
    raw: i32,
    r#type: i32,
}

type R = RFields;
type M = i32;

#[derive(Serialize, Deserialize, odm::Document)]
#[document(crate = odm, collection = "r", index(inside.eq, many.size), index(maybe.raw))]
pub(crate) struct R2 {
    _id: i32,
    inside: R,
    maybe: Option<R>,
    m: M,
    many: Vec<RFields>,
}

#[test]
fn operators_and_fields() {
    let r = R2::fields();
    let filter =
        FilterOps::eq(&r.inside().eq(), 1) & r.many().any().size().eq(2) & r.maybe().some().set().eq(3);
    assert_eq!(
        filter.to_string(),
        r#"{"inside.eq": {"$eq": 1}, "many.size": {"$eq": 2}, "maybe.set": {"$eq": 3}}"#
    );
    assert_eq!(AsPath::raw(&r.inside().r#type()).dotted(), "inside.type");
    assert_eq!(R2::indexes().len(), 2);
}

#[derive(Serialize, Deserialize, odm::Embedded)]
#[document(crate = odm)]
struct Tree {
    children: Vec<Self>,
    parent: Option<Box<Self>>,
    by_name: std::collections::HashMap<String, Self>,
    #[document(opaque)]
    pairs: Vec<(Self, i32)>,
}

#[derive(Serialize, Deserialize, odm::Document)]
#[document(crate = odm, collection = "trees")]
struct Rooted<T: odm::Field> {
    _id: i32,
    tree: Tree,
    value: Option<T>,
    #[document(opaque)]
    replaced: Vec<Self>,
}

#[derive(Serialize, Deserialize, odm::Embedded)]
#[document(crate = odm)]
#[allow(non_camel_case_types, reason = "a keyword as a name")]
struct r#async {
    n: i32,
}

#[derive(Serialize, Deserialize, odm::Document)]
#[document(crate = odm, collection = "loops")]
#[allow(non_camel_case_types, reason = "a keyword as a name")]
struct r#loop {
    _id: i32,
    inner: r#async,
}

#[derive(odm::Shape)]
#[document(crate = odm)]
struct Wider {
    #[document(flatten)]
    inner: r#loop,
    twice: i64,
}

#[test]
fn types_with_raw_names() {
    let filter = r#loop::fields().inner().n().eq(1);
    assert_eq!(filter.to_string(), r#"{"inner.n": {"$eq": 1}}"#);
    assert_eq!(<r#loop as odm::Model>::NAME, "loop");
    let stored = odm::bson::doc! { "_id": 1, "inner": { "n": 2 }, "twice": 3_i64 };
    let wider: Wider = odm::codec::from_slice(&odm::bson::to_vec(&stored).unwrap()).unwrap();
    assert_eq!((wider.inner._id, wider.inner.inner.n, wider.twice), (1, 2, 3));
}

#[test]
fn a_type_that_contains_itself_by_the_name_of_every_type() {
    let r = Rooted::<i32>::fields();
    let filter = r.tree().children().any().parent().exists() & r.value().eq(1);
    assert_eq!(
        filter.to_string(),
        r#"{"tree.children.parent": {"$exists": true}, "value": {"$eq": 1}}"#
    );
}

#[derive(Serialize, Deserialize, odm::Shape)]
#[document(crate = odm)]
struct Grouped {
    #[serde(rename = "_id")]
    r#type: i32,
    all: Vec<R>,
}

#[derive(odm::Shape)]
#[document(crate = odm)]
#[serde(rename_all = "camelCase")]
struct Flattened {
    #[document(flatten)]
    r#ref: R2,
    r#type: Option<R>,
    other_type: i32,
}

#[derive(Serialize, Deserialize, odm::Projection)]
#[document(of = R2, crate = odm)]
struct Part {
    inside: InsidePart,
    #[document(path = maybe.r#type)]
    r#type: Option<i32>,
}

#[derive(Serialize, Deserialize, odm::Projection)]
#[document(crate = odm)]
#[document(of = R)]
struct InsidePart {
    r#type: i32,
}

#[test]
fn shapes_and_projections() {
    use odm::expr::{expr, push};
    let grouped = odm::Pipeline::<R2>::new().group(|r| GroupedGroup {
        r#type: expr(r.inside().r#type()),
        all: push(r.inside()),
    });
    assert_eq!(
        grouped.to_string(),
        r#"[{"$group": {"_id": "$inside.type", "all": {"$push": "$inside"}}}]"#
    );
    let flattened = odm::Pipeline::<R2>::new().add_fields(|r| FlattenedAdded {
        r#type: expr(r.maybe()),
        other_type: expr(r.inside().any()),
    });
    assert_eq!(
        flattened.to_string(),
        r#"[{"$set": {"type": "$maybe", "otherType": "$inside.any"}}]"#
    );
    let part = odm::Pipeline::<R2>::new().select::<Part>();
    assert_eq!(
        part.to_string(),
        r#"[{"$project": {"_id": 0, "inside": {"type": 1}, "type": "$maybe.type"}}]"#
    );
    let read: fn(Flattened) -> (R2, Option<R>, i32) = |f| (f.r#ref, f.r#type, f.other_type);
    let _ = read;
}
