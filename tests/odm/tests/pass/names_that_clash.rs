//! Fields with the names of operators, types with the names of generated ones, raw identifiers, a
//! renamed crate.

use marula as odm;
use odm::path::AsPath;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[document(crate = odm)]
pub struct RFields {
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
