//! The documents that filters compile to.

use marula::bson::{Bson, DateTime, Decimal128, doc};
use marula::geo::{Point, Polygon};
use marula::prelude::*;
use marula::{BsonType, Document, Embedded, Error, Expr, Fields, Filter, Pattern, TextSearch};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded, Clone)]
struct Line {
    sku: String,
    qty: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    note: Option<String>,
    total: Decimal128,
    open: bool,
    big: u64,
    maybe: Option<i64>,
    at: DateTime,
    tags: Vec<String>,
    scores: Vec<i32>,
    lines: Vec<Line>,
    place: Option<Point>,
    raw: Bson,
}

#[expect(clippy::needless_pass_by_value, reason = "the callers read better")]
fn check(filter: impl FnOnce(Fields<Order>) -> Filter<Order>, expected: marula::bson::Document) {
    assert_eq!(
        filter(Order::fields()).into_document().expect("a valid filter"),
        expected
    );
}

#[test]
fn comparisons() {
    check(|o| o._id().eq(5), doc! { "_id": { "$eq": 5_i64 } });
    check(|o| o.note().eq("x"), doc! { "note": { "$eq": "x" } });
    check(|o| o.note().eq(Some("x")), doc! { "note": { "$eq": "x" } });
    check(|o| o.note().ne(None::<String>), doc! { "note": { "$ne": null } });
    check(
        |o| o.maybe().gt(1) & o.maybe().lte(Some(9)),
        doc! { "maybe": { "$gt": 1_i64, "$lte": 9_i64 } },
    );
    check(|o| o.big().lt(7), doc! { "big": { "$lt": 7_i64 } });
    check(|o| o.open().eq(true), doc! { "open": { "$eq": true } });
    let total: Decimal128 = "9.90".parse().unwrap();
    check(|o| o.total().gte(total), doc! { "total": { "$gte": total } });
    check(
        |o| o.at().lt(DateTime::from_millis(1)),
        doc! { "at": { "$lt": DateTime::from_millis(1) } },
    );
    check(
        |o| o._id().is_in([1, 2]),
        doc! { "_id": { "$in": [1_i64, 2_i64] } },
    );
    check(
        |o| o.note().not_in(["a", "b"]),
        doc! { "note": { "$nin": ["a", "b"] } },
    );
    check(
        |o| o.raw().eq(1) & o.raw().gt("a"),
        doc! { "raw": { "$eq": 1, "$gt": "a" } },
    );
}

#[test]
fn presence_and_type() {
    check(|o| o.note().exists(), doc! { "note": { "$exists": true } });
    check(|o| o.note().is_missing(), doc! { "note": { "$exists": false } });
    check(|o| o.note().is_null(), doc! { "note": { "$eq": null } });
    check(|o| o.note().is_not_null(), doc! { "note": { "$ne": null } });
    check(
        |o| o.note().type_is(BsonType::Null),
        doc! { "note": { "$type": "null" } },
    );
}

#[test]
fn strings() {
    check(|o| o.note().regex("^a"), doc! { "note": { "$regex": "^a" } });
    check(
        |o| o.note().regex(("^a", "i")),
        doc! { "note": { "$regex": "^a", "$options": "i" } },
    );
    check(
        |o| o.note().starts_with("a.b*"),
        doc! { "note": { "$regex": r"^a\.b\*" } },
    );
    check(
        |_| Filter::text(TextSearch::new("tea").case_sensitive(true)),
        doc! { "$text": { "$search": "tea", "$caseSensitive": true } },
    );
    let error = Order::fields().note().regex("a\0").into_document().unwrap_err();
    assert!(
        matches!(&error, Error::Encode { path, .. } if path == "note"),
        "{error}"
    );
}

#[test]
fn arrays() {
    check(|o| o.tags().contains("a"), doc! { "tags": { "$eq": "a" } });
    check(
        |o| o.tags().eq(["a", "b"]),
        doc! { "tags": { "$eq": ["a", "b"] } },
    );
    check(
        |o| o.tags().all(["a", "b"]),
        doc! { "tags": { "$all": ["a", "b"] } },
    );
    check(|o| o.tags().size(2), doc! { "tags": { "$size": 2_i64 } });
    check(|o| o.scores().any().gte(5), doc! { "scores": { "$gte": 5 } });
    check(|o| o.scores().nth(0).gte(5), doc! { "scores.0": { "$gte": 5 } });
    check(
        |o| o.scores().elem_match(|s| s.gte(5) & s.lt(9)),
        doc! { "scores": { "$elemMatch": { "$gte": 5, "$lt": 9 } } },
    );
    check(
        |o| {
            o.lines()
                .elem_match(|l| l.sku().eq("a") & (l.qty().gte(2) | l.qty().eq(0)))
        },
        doc! { "lines": { "$elemMatch": {
            "sku": { "$eq": "a" }, "$or": [{ "qty": { "$gte": 2 } }, { "qty": { "$eq": 0 } }],
        } } },
    );
    check(
        |o| {
            o.lines().contains(Line {
                sku: "a".into(),
                qty: 1,
            })
        },
        doc! { "lines": { "$eq": { "sku": "a", "qty": 1 } } },
    );
    check(
        |o| o.tags().contains("a") & o.tags().contains("b"),
        doc! { "$and": [{ "tags": { "$eq": "a" } }, { "tags": { "$eq": "b" } }] },
    );
}

#[test]
fn numbers_and_bits() {
    check(
        |o| o._id().modulo(4, 1),
        doc! { "_id": { "$mod": [4_i64, 1_i64] } },
    );
    check(
        |o| o._id().bits_all_set(5),
        doc! { "_id": { "$bitsAllSet": 5_i64 } },
    );
    check(
        |o| o._id().bits_any_clear(5),
        doc! { "_id": { "$bitsAnyClear": 5_i64 } },
    );
    assert!(Order::fields()._id().modulo(0, 1).into_document().is_err());
}

#[test]
fn geometry() {
    let point = doc! { "type": "Point", "coordinates": [9.0, 47.0] };
    check(
        |o| o.place().near(Point::new([9.0, 47.0]), Some(500.0)),
        doc! { "place": { "$nearSphere": { "$geometry": point, "$maxDistance": 500.0 } } },
    );
    let ring = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]];
    check(
        |o| o.place().geo_within(Polygon::new(vec![ring])),
        doc! { "place": { "$geoWithin": { "$geometry": {
            "type": "Polygon", "coordinates": [[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]],
        } } } },
    );
}

#[test]
fn logic() {
    let o = Order::fields;
    check(
        |o| !(o.open().eq(true)) & (o._id().eq(1) | o._id().eq(2) | o._id().eq(3)),
        doc! {
            "$nor": [{ "open": { "$eq": true } }],
            "$or": [{ "_id": { "$eq": 1_i64 } }, { "_id": { "$eq": 2_i64 } }, { "_id": { "$eq": 3_i64 } }],
        },
    );
    check(
        |o| Filter::all([o.open().eq(true), o._id().gt(1)]),
        doc! { "open": { "$eq": true }, "_id": { "$gt": 1_i64 } },
    );
    check(|_| Filter::all([]), doc! {});
    check(|_| Filter::all([Filter::default()]), doc! {});
    check(|_| Filter::any([Filter::default()]), doc! { "$nor": [{}] });
    check(|_| Filter::any([]), doc! { "$nor": [{}] });
    check(
        |_| Filter::expr(Expr::raw(doc! { "$gt": ["$a", "$b"] })),
        doc! { "$expr": { "$gt": ["$a", "$b"] } },
    );
    check(
        |o| o._id().not(|id| id.gt(5) & id.lt(9)),
        doc! { "_id": { "$not": { "$gt": 5_i64, "$lt": 9_i64 } } },
    );
    check(
        |o| {
            o.tags()
                .elem_match(|t| t.not(|x| x.eq("a")) & t.not(|x| x.is_in(["b", "c"])))
        },
        doc! { "tags": { "$elemMatch": { "$ne": "a", "$nin": ["b", "c"] } } },
    );
    let twice = o()
        .tags()
        .elem_match(|t| t.not(|x| x.starts_with("a")) & t.not(|x| x.starts_with("b")));
    let error = twice.into_document().unwrap_err().to_string();
    assert!(error.contains("`not` on an array element"), "{error}");
    check(
        |o| o.note().raw_condition(doc! { "$eq": 1 }),
        doc! { "note": { "$eq": 1 } },
    );
    check(|_| Filter::raw(doc! { "x": 1 }), doc! { "x": 1 });
    assert!(o().type_is(BsonType::Object).into_document().is_err());
    assert!((o().exists() | o()._id().eq(1)).into_document().is_err());
}

#[test]
fn filters_are_built_step_by_step() {
    let o = Order::fields;
    let note = |text: Option<&str>| text.map(|t| o().note().eq(t));
    check(
        |o| {
            o._id()
                .gt(1)
                .and(note(Some("a")))
                .and(note(None))
                .and(o.open().eq(true))
        },
        doc! { "_id": { "$gt": 1_i64 }, "note": { "$eq": "a" }, "open": { "$eq": true } },
    );
    check(
        |o| o._id().eq(1).or(note(None)).or(note(Some("a"))),
        doc! { "$or": [{ "_id": { "$eq": 1_i64 } }, { "note": { "$eq": "a" } }] },
    );
    check(
        |o| Filter::all_some([note(None), Some(o._id().lt(5))]),
        doc! { "_id": { "$lt": 5_i64 } },
    );
    check(
        |_| Filter::any_some([note(None), note(Some("a"))]),
        doc! { "note": { "$eq": "a" } },
    );
    check(|_| Filter::any_some([note(None)]), doc! { "$nor": [{}] });
    check(|_| Filter::default(), doc! {});
    check(
        |o| {
            let mut filter = Filter::default();
            filter &= o._id().gte(1);
            filter &= o._id().lte(5);
            filter
        },
        doc! { "_id": { "$gte": 1_i64, "$lte": 5_i64 } },
    );
    check(
        |o| {
            let mut filter = o._id().eq(1);
            filter |= o._id().eq(2);
            filter
        },
        doc! { "$or": [{ "_id": { "$eq": 1_i64 } }, { "_id": { "$eq": 2_i64 } }] },
    );
}

#[test]
fn between_applies_to_one_element() {
    check(
        |o| o.maybe().between(1, Some(9)),
        doc! { "maybe": { "$gte": 1_i64, "$lte": 9_i64 } },
    );
    check(
        |o| o.scores().any().between(1, 9),
        doc! { "scores": { "$elemMatch": { "$gte": 1, "$lte": 9 } } },
    );
    check(
        |o| o.lines().qty().between(1, 9),
        doc! { "lines": { "$elemMatch": { "qty": { "$gte": 1, "$lte": 9 } } } },
    );
    check(
        |o| o.scores().nth(0).between(1, 9),
        doc! { "scores.0": { "$gte": 1, "$lte": 9 } },
    );
    check(
        |o| o.lines().elem_match(|l| l.qty().between(1, 9)),
        doc! { "lines": { "$elemMatch": { "qty": { "$gte": 1, "$lte": 9 } } } },
    );
}

#[test]
fn text_is_escaped() {
    check(
        |o| o.note().contains_text("a.b"),
        doc! { "note": { "$regex": r"a\.b" } },
    );
    check(
        |o| {
            o.note()
                .regex(Pattern::containing("(").ignore_case().ignore_case())
        },
        doc! { "note": { "$regex": r"\(", "$options": "i" } },
    );
    check(
        |o| o.note().regex(Pattern::starting_with("^").ignore_case()),
        doc! { "note": { "$regex": r"^\^", "$options": "i" } },
    );
    check(
        |o| o.note().regex(Pattern::ending_with("$")),
        doc! { "note": { "$regex": r"\$\z" } },
    );
    assert_eq!(
        Pattern::escape("ä [b]-{c}|d #\n"),
        "ä\\ \\[b\\]\\-\\{c\\}\\|d\\ \\#\\\n"
    );
    assert!(
        Order::fields()
            .note()
            .contains_text("a\0")
            .into_document()
            .is_err()
    );
}

#[test]
fn values_out_of_range_are_errors() {
    let o = Order::fields();
    let filter = o.big().eq(u64::MAX) & o.open().eq(true);
    assert_eq!(
        filter.to_string(),
        "<cannot encode `big`: an integer above i64::MAX has no BSON form>"
    );
    let error = filter.into_document().unwrap_err();
    assert!(matches!(&error, Error::Encode { path, .. } if path == "big"));
    assert!(
        o.lines()
            .elem_match(|l| l.qty().eq(1)
                & l.eq(Line {
                    sku: String::new(),
                    qty: 1
                }))
            .into_document()
            .is_err()
    );
}

/// Both UUID types are stored as Binary subtype 4, so a value of one type can be compared with a
/// field of the other one.
#[test]
fn uuids_of_both_types_are_values_of_each_others_fields() {
    use marula::bson::Uuid as BsonUuid;
    use uuid::Uuid;

    #[derive(Serialize, Deserialize, Document)]
    #[document(collection = "uuids")]
    struct Uuids {
        _id: Uuid,
        driver: BsonUuid,
        optional: Option<BsonUuid>,
        all: Vec<BsonUuid>,
    }

    let id = Uuid::from_u128(7);
    let driver = BsonUuid::from_bytes(id.into_bytes());
    let (known, known_driver) = (&id, &driver);
    let u = Uuids::fields();
    let pairs = [
        (u.driver().eq(id), u.driver().eq(driver)),
        (u.driver().eq(known), u.driver().eq(known_driver)),
        (u.optional().eq(id), u.optional().eq(driver)),
        (u.optional().eq(Some(&id)), u.optional().eq(Some(&driver))),
        (u.all().eq([id]), u.all().eq([driver])),
        (u.driver().is_in([id]), u.driver().is_in([driver])),
        (u._id().eq(driver), u._id().eq(id)),
    ];
    for (other, same) in pairs {
        assert_eq!(other.into_document().unwrap(), same.into_document().unwrap());
    }
}

/// The server has no order of regular expressions, and no `$ne` of one.
#[test]
fn regular_expressions_are_not_compared() {
    let regex = || {
        Bson::RegularExpression(marula::bson::Regex {
            pattern: "^a".try_into().expect("no NUL"),
            options: String::new().try_into().expect("no NUL"),
        })
    };
    let o = Order::fields();
    let refused = [
        o.raw().ne(regex()),
        o.raw().gt(regex()),
        o.raw().gte(regex()),
        o.raw().lt(regex()),
        o.raw().lte(regex()),
    ];
    for filter in refused {
        match filter.into_document() {
            Err(Error::InvalidFilter { path, reason }) => {
                assert!(path == "raw" && reason.contains("regular expression"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    check(|o| o.raw().eq(regex()), doc! { "raw": { "$eq": regex() } });
}
