//! The operator documents and array filters that updates compile to, and the check for conflicts.

use marula::bson::{Bson, DateTime, Decimal128, Document as Doc, doc};
use marula::prelude::*;
use marula::update::Compiled;
use marula::{Document, Embedded, Error, Fields, IntoUpdate, Update};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded, Clone)]
struct Line {
    sku: String,
    qty: i32,
    parts: Vec<i64>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    note: Option<String>,
    old_note: Option<String>,
    total: Decimal128,
    flags: u32,
    at: DateTime,
    tags: Vec<String>,
    scores: Vec<i32>,
    lines: Vec<Line>,
}

fn compile<U: IntoUpdate<Order>>(update: impl FnOnce(Fields<Order>) -> U) -> marula::Result<(Doc, Vec<Doc>)> {
    match update(Order::fields()).into_update().compile()? {
        Compiled::Operators {
            update,
            array_filters,
        } => Ok((update, array_filters)),
        Compiled::Pipeline(stages) => panic!("a pipeline: {stages:?}"),
    }
}

fn check<U: IntoUpdate<Order>>(update: impl FnOnce(Fields<Order>) -> U, expected: Doc) {
    let (update, filters) = compile(update).expect("a valid update");
    assert_eq!((update, filters), (expected, Vec::new()));
}

#[test]
fn fields() {
    check(|o| o.note().set("x"), doc! { "$set": { "note": "x" } });
    check(|o| o.note().set_null(), doc! { "$set": { "note": null } });
    check(|o| o.note().unset(), doc! { "$unset": { "note": "" } });
    check(
        |o| (o.flags().inc(2), o._id().mul(3)),
        doc! { "$inc": { "flags": 2_i64 }, "$mul": { "_id": 3_i64 } },
    );
    check(|o| o.flags().dec(2), doc! { "$inc": { "flags": -2_i64 } });
    let total: Decimal128 = "1.5".parse().unwrap();
    let negative: Decimal128 = "-1.5".parse().unwrap();
    check(|o| o.total().dec(total), doc! { "$inc": { "total": negative } });
    check(|o| o.total().min(total), doc! { "$min": { "total": total } });
    check(
        |o| o.at().max(DateTime::from_millis(5)),
        doc! { "$max": { "at": DateTime::from_millis(5) } },
    );
    check(
        |o| o.note().rename(o.old_note()),
        doc! { "$rename": { "note": "old_note" } },
    );
    check(|o| o.at().current_date(), doc! { "$currentDate": { "at": true } });
    check(
        |o| o.note().set_on_insert("new"),
        doc! { "$setOnInsert": { "note": "new" } },
    );
    check(
        |o| o.flags().bit_and(6),
        doc! { "$bit": { "flags": { "and": 6_i64 } } },
    );
    check(
        |o| o.note().raw_operator("$set", 1),
        doc! { "$set": { "note": 1 } },
    );
}

#[test]
fn arrays() {
    check(|o| o.tags().push("a"), doc! { "$push": { "tags": "a" } });
    check(
        |o| {
            o.lines()
                .push_each([line("a")])
                .position(0)
                .slice(-5)
                .sort(|l| (l.qty().desc(), l.sku().asc()))
        },
        doc! { "$push": { "lines": {
            "$each": [{ "sku": "a", "qty": 1, "parts": [] }],
            "$position": 0, "$slice": -5, "$sort": { "qty": -1, "sku": 1 },
        } } },
    );
    check(
        |o| o.scores().push_each([1, 2]).sort(|s| s.desc()),
        doc! { "$push": { "scores": { "$each": [1, 2], "$sort": -1 } } },
    );
    check(
        |o| o.tags().add_to_set("a"),
        doc! { "$addToSet": { "tags": "a" } },
    );
    check(
        |o| o.tags().add_each_to_set(["a", "b"]),
        doc! { "$addToSet": { "tags": { "$each": ["a", "b"] } } },
    );
    check(
        |o| o.lines().pull(|l| l.sku().eq("a")),
        doc! { "$pull": { "lines": { "sku": { "$eq": "a" } } } },
    );
    check(
        |o| o.scores().pull(|s| s.gte(5)),
        doc! { "$pull": { "scores": { "$gte": 5 } } },
    );
    check(
        |o| o.scores().pull_all([1, 2]),
        doc! { "$pullAll": { "scores": [1, 2] } },
    );
    check(
        |o| (o.scores().pop_first(), o.tags().pop_last()),
        doc! { "$pop": { "scores": -1, "tags": 1 } },
    );
    check(
        |o| o.lines().nth(3).qty().inc(1),
        doc! { "$inc": { "lines.3.qty": 1 } },
    );
    check(
        |o| o.lines().positional().qty().inc(1),
        doc! { "$inc": { "lines.$.qty": 1 } },
    );
    check(
        |o| o.lines().all_positional().qty().inc(1),
        doc! { "$inc": { "lines.$[].qty": 1 } },
    );
    check(
        |o| o.scores().all_positional().inc(1),
        doc! { "$inc": { "scores.$[]": 1 } },
    );
}

fn line(sku: &str) -> Line {
    Line {
        sku: sku.to_owned(),
        qty: 1,
        parts: Vec::new(),
    }
}

#[test]
fn array_filters_are_numbered_across_the_update() {
    let (update, filters) = compile(|o| {
        (
            o.lines().filtered_positional(|l| l.sku().eq("a")).qty().inc(1),
            o.lines().filtered_positional(|l| l.sku().eq("a")).sku().set("b"),
            o.lines()
                .filtered_positional(|l| l.qty().gt(2) | l.qty().eq(0))
                .parts()
                .filtered_positional(|p| p.lt(5))
                .set(0),
            o.scores().filtered_positional(|s| s.eq(3) & s.ne(4)).set(9),
        )
    })
    .unwrap();
    assert_eq!(
        update,
        doc! {
            "$inc": { "lines.$[f0].qty": 1 },
            "$set": { "lines.$[f0].sku": "b", "lines.$[f1].parts.$[f2]": 0_i64, "scores.$[f3]": 9 },
        }
    );
    assert_eq!(
        filters,
        [
            doc! { "f0.sku": { "$eq": "a" } },
            doc! { "$or": [{ "f1.qty": { "$gt": 2 } }, { "f1.qty": { "$eq": 0 } }] },
            doc! { "f2": { "$lt": 5_i64 } },
            doc! { "f3": { "$eq": 3, "$ne": 4 } },
        ]
    );
}

fn refused<U: IntoUpdate<Order>>(update: impl FnOnce(Fields<Order>) -> U) -> (String, String) {
    match compile(update).expect_err("an invalid update") {
        Error::InvalidUpdate { path, reason } => (path, reason),
        other => panic!("{other}"),
    }
}

#[test]
fn conflicting_operators_are_rejected() {
    let (path, reason) = refused(|o| (o.note().set("a"), o.note().unset()));
    assert_eq!(
        (path.as_str(), reason.as_str()),
        ("note", "two operators change this field")
    );
    let (path, reason) = refused(|o| {
        (
            o.lines().nth(0).set(line("a")),
            o.tags().push("x"),
            o.lines().nth(0).qty().inc(1),
        )
    });
    assert_eq!(path, "lines.0");
    assert!(reason.contains("`lines.0.qty`"), "{reason}");
    assert_eq!(
        refused(|o| (o.note().rename(o.old_note()), o.old_note().set("x"))).0,
        "old_note"
    );
    let same = |o: &Fields<Order>| o.lines().filtered_positional(|l| l.sku().eq("a")).qty().inc(1);
    assert_eq!(refused(|o| (same(&o), same(&o))).0, "lines.$[f0].qty");
    assert_eq!(
        refused(|o| (o.note().set("a"), Update::raw(doc! { "$set": { "note": 1 } }))).0,
        "note"
    );
    // A common prefix of names is not a conflict.
    check(
        |o| (o.note().set("a"), o.old_note().set("b")),
        doc! { "$set": { "note": "a", "old_note": "b" } },
    );
}

#[test]
fn invalid_updates_are_rejected() {
    assert!(refused(|_| Update::empty()).1.contains("nothing"));
    assert!(refused(|_| Vec::<Update<Order>>::new()).1.contains("nothing"));
    assert!(
        refused(|o| o.raw_operator("$set", 1))
            .1
            .contains("whole document")
    );
    for document in [doc! { "note": {} }, doc! { "note": 1 }] {
        let (path, reason) = refused(|_| Update::raw(document));
        assert_eq!(path, "note");
        assert!(reason.contains("update operators, such as `$set`"), "{reason}");
    }
    assert!(
        refused(|o| (Update::pipeline([doc! {}]), o.note().set("a")))
            .1
            .contains("pipeline")
    );
    assert!(
        refused(|o| o
            .lines()
            .filtered_positional(|_| marula::Filter::everything())
            .qty()
            .inc(1))
        .1
        .contains("condition")
    );
    let overflow = compile(|o| {
        o.lines()
            .filtered_positional(|l| l.qty().modulo(0, 1))
            .qty()
            .inc(1)
    })
    .unwrap_err();
    assert!(overflow.to_string().contains("divisor"), "{overflow}");
}

#[test]
fn display_prints_what_is_sent() {
    let o = Order::fields();
    let update = (
        o.lines().filtered_positional(|l| l.sku().eq("a")).qty().inc(1),
        o.note().set("x"),
    )
        .into_update();
    assert_eq!(
        update.to_string(),
        r#"{"$inc": {"lines.$[f0].qty": 1}, "$set": {"note": "x"}} arrayFilters [{"f0.sku": {"$eq": "a"}}]"#
    );
    let pipeline = Update::<Order>::pipeline([doc! { "$set": { "a": Bson::Null } }]);
    assert_eq!(pipeline.to_string(), r#"[{"$set": {"a": null}}]"#);
    assert_eq!(
        Update::<Order>::empty().to_string(),
        "<invalid update at its top level: the update changes nothing; if it may, use `update_one`, `update_many` or \
         `find_one_and_update` with `allow_empty()`, and without `upsert`>"
    );
}
