//! The values of operators of numbers, strings, dates, arrays and documents, and of accumulators and windows.

use std::collections::{BTreeMap, HashMap};

use crate::models::*;
use marula::bson::{DateTime, Timestamp, Uuid};
use marula::driver::options::ServerVersion;
use marula::expr::*;
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Shape};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Part {
    size: Option<i32>,
    color: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "things")]
struct Thing {
    _id: i64,
    n: i32,
    x: f64,
    text: String,
    at: DateTime,
    list: Vec<i32>,
    words: Vec<String>,
    votes: HashMap<String, i64>,
    a: Part,
    b: Part,
    gap: Option<i32>,
    stamp: Timestamp,
}

const DAY: i64 = 86_400_000;

fn thing(id: i64) -> Thing {
    Thing {
        _id: id,
        n: 6,
        x: 0.5,
        text: "Äb-17, b-4".to_owned(),
        at: DateTime::from_millis(20_000 * DAY + 3_723_004),
        list: vec![3, 1, 2],
        words: vec!["a".to_owned(), "b".to_owned()],
        votes: HashMap::from([("x".to_owned(), 5)]),
        a: Part {
            size: Some(1),
            color: Some("red".to_owned()),
        },
        b: Part {
            size: Some(2),
            color: None,
        },
        gap: (id != 2).then_some(10 * i32::try_from(id).unwrap_or(0)),
        stamp: Timestamp {
            time: 7,
            increment: 3,
        },
    }
}

async fn things(shop: &Shop, count: i64) -> Collection<Thing> {
    let things: Collection<Thing> = shop.db.collection();
    things
        .insert_many(&(1..=count).map(thing).collect::<Vec<_>>())
        .await
        .expect("inserted");
    things
}

fn is_before(shop: &Shop, major: u32, minor: u32) -> bool {
    let topology = shop.db.client().driver().topology_description();
    let oldest = topology
        .servers()
        .filter_map(marula::driver::event::ServerDescription::max_wire_version)
        .min();
    oldest.is_some_and(|found| ServerVersion::of_wire_version(found) < ServerVersion::release(major, minor))
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Computed {
    angle: f64,
    log: f64,
    order: i32,
    twice: i32,
    truth: bool,
    week: i32,
    iso: i32,
    day: DateTime,
    same: DateTime,
    parsed: DateTime,
    unparsed: Option<DateTime>,
    parts: DateParts,
    start: String,
    end: String,
    chars: String,
    bytes: i32,
    found: Option<RegexMatch>,
    all: Vec<String>,
    case: i32,
    number: Option<i32>,
    fallback: i32,
    kind: String,
    is_list: bool,
}

#[tokio::test]
async fn numbers_dates_and_texts_are_computed() {
    let shop = Shop::open().await;
    let things = things(&shop, 1).await;
    let found = things.aggregate().project(|t| ComputedExpr {
        angle: round(to_degrees(atan2(1.0, 1.0)), 6),
        log: log(8, 2),
        order: compare(t.n(), 5),
        twice: to_int(let_in(t.n() + 1, |n| n.clone() * n)),
        truth: to_bool(t.n()),
        week: week(t.at()),
        iso: iso_week_year(t.at()),
        day: date_of(lit::<_, i32>(2024), 13, 1),
        same: date_from_parts(date_to_parts(t.at())),
        parsed: parse_date("30.11.2026", Some("%d.%m.%Y")),
        unparsed: try_parse_date(t.text(), None),
        parts: date_to_parts(t.at()),
        start: trim_start(" a "),
        end: trim_end(" a "),
        chars: trim_chars("--a+", "+-"),
        bytes: to_int(byte_count(t.text()) - char_count(t.text())),
        found: regex_find(t.text(), "b-([0-9]+)", ""),
        all: map(regex_find_all(t.text(), "[0-9]+", ""), |m| m.text()),
        case: compare_ignore_case("ABC", "abd"),
        number: convert::<i32, _>(t.text()),
        fallback: convert_or::<i32, _>(t.text(), t.n()),
        kind: type_name(t.at()),
        is_list: is_array(t.list()),
    });
    let found = found.first().await.unwrap().unwrap();
    let expected = Computed {
        angle: 45.0,
        log: 3.0,
        order: 1,
        twice: 49,
        truth: true,
        week: 39,
        iso: 2024,
        day: DateTime::from_millis(20_089 * DAY),
        same: thing(1).at,
        parsed: DateTime::from_millis(20_787 * DAY),
        unparsed: None,
        parts: found.parts,
        start: "a ".to_owned(),
        end: " a".to_owned(),
        chars: "a".to_owned(),
        bytes: 1,
        found: found.found.clone(),
        all: vec!["17".to_owned(), "4".to_owned()],
        case: -1,
        number: None,
        fallback: 6,
        kind: "date".to_owned(),
        is_list: true,
    };
    assert_eq!(found, expected);
    assert_eq!(
        (
            found.parts.hour,
            found.parts.minute,
            found.parts.second,
            found.parts.millisecond
        ),
        (1, 2, 3, 4)
    );
    let first = found.found.unwrap();
    assert_eq!(
        (&*first.text, first.at, first.captures),
        ("b-17", 1, vec![Some("17".to_owned())])
    );
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Arrays {
    at: i32,
    middle: Vec<i32>,
    steps: Vec<i32>,
    pairs: Vec<(i32, String)>,
    longest: Vec<(i32, String)>,
    equal: bool,
    deviation: Option<f64>,
    merged: Part,
    entries: Vec<MapEntry<i64>>,
    doubled: BTreeMap<String, i64>,
    fields: i32,
}

#[tokio::test]
async fn arrays_and_documents_are_computed() {
    let shop = Shop::open().await;
    let things = things(&shop, 1).await;
    let found = things.aggregate().project(|t| ArraysExpr {
        at: index_of(t.list(), 2),
        middle: slice_from(t.list(), 1, 1),
        steps: range(lit::<_, i32>(0), t.n(), 2),
        pairs: zip(t.list(), t.words()),
        longest: zip_longest(t.list(), t.words(), 0, "-"),
        equal: set_equals(t.list(), range(1, 4, 1)),
        deviation: std_dev_pop_of(t.list(), |n| n * 0),
        merged: merge_objects([expr(t.a()), expr(t.b())]),
        entries: object_to_array(t.votes()),
        doubled: array_to_object(object_to_array(t.votes())),
        fields: size(fields_of(t.a())),
    });
    let found = found.first().await.unwrap().unwrap();
    let pair = |n: i32, word: &str| (n, word.to_owned());
    assert_eq!(
        (found.at, &found.middle, &found.steps),
        (2, &vec![1], &vec![0, 2, 4])
    );
    assert_eq!(found.pairs, [pair(3, "a"), pair(1, "b")]);
    assert_eq!(found.longest, [pair(3, "a"), pair(1, "b"), pair(2, "-")]);
    assert!(found.equal);
    assert_eq!(found.deviation, Some(0.0));
    assert_eq!((found.merged.size, found.fields), (Some(2), 2));
    assert_eq!((&*found.entries[0].key, found.entries[0].value), ("x", 5));
    assert_eq!(found.doubled, BTreeMap::from([("x".to_owned(), 5)]));
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Newer {
    first: Option<i32>,
    last: Option<i32>,
    two: Vec<i32>,
    greatest: Vec<i32>,
    least: Vec<i32>,
    field: Option<i64>,
    is_number: bool,
    before: DateTime,
    replaced: String,
    second: i64,
    increment: i64,
    bits: i64,
    inverted: i64,
    median: Option<f64>,
    percentiles: Vec<Option<f64>>,
    bytes: Option<i32>,
    random: f64,
}

#[tokio::test]
async fn operators_of_newer_servers_are_computed() {
    let shop = Shop::open().await;
    if is_before(&shop, 7, 0) {
        return shop.close().await;
    }
    let things = things(&shop, 1).await;
    let found = things.aggregate().project(|t| NewerExpr {
        first: first_element(t.list()),
        last: last_element(t.list()),
        two: first_elements(t.list(), 2),
        greatest: greatest_elements(t.list(), 2),
        least: least_elements(t.list(), 1),
        field: get_field::<i64, _, _>(set_field(t.votes(), "$a.b", 9_i64), "$a.b"),
        is_number: is_number(t.n()),
        before: date_subtract(t.at(), Unit::Day, 1),
        replaced: replace_first(t.text(), "b", "c"),
        second: timestamp_seconds(t.stamp()),
        increment: timestamp_increment(t.stamp()),
        bits: bit_xor(bit_or(t.n(), 1), bit_and(t.n(), 2)),
        inverted: bit_not(t.n()),
        median: median_of(t.list(), |n| n),
        percentiles: percentiles_of(t.list(), &[0.0, 1.0], |n| n),
        bytes: binary_size(t.text()),
        random: random(),
    });
    let found = found.first().await.unwrap().unwrap();
    let expected = Newer {
        first: Some(3),
        last: Some(2),
        two: vec![3, 1],
        greatest: vec![3, 2],
        least: vec![1],
        field: Some(9),
        is_number: true,
        before: DateTime::from_millis(19_999 * DAY + 3_723_004),
        replaced: "Äc-17, b-4".to_owned(),
        second: 7,
        increment: 3,
        bits: 5,
        inverted: -7,
        median: Some(2.0),
        percentiles: vec![Some(1.0), Some(3.0)],
        bytes: Some(11),
        random: found.random,
    };
    assert_eq!(found, expected);
    assert!((0.0..1.0).contains(&found.random));
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Grouped {
    #[serde(rename = "_id")]
    customer: Uuid,
    first: Vec<i64>,
    greatest: Vec<i64>,
    middle: Option<f64>,
    percentiles: Vec<Option<f64>>,
}

#[tokio::test]
async fn groups_keep_several_values() {
    let shop = Shop::open().await;
    if is_before(&shop, 7, 0) {
        return shop.close().await;
    }
    let grouped = shop
        .orders
        .aggregate()
        .sort(|o| o.id().asc())
        .group(|o| GroupedGroup {
            customer: expr(o.customer_id()),
            first: first_n(2, o.id()),
            greatest: max_n(2, o.total()),
            middle: median(o.total()),
            percentiles: percentiles(o.total(), &[1.0]),
        })
        .sort(|g| g.customer().asc())
        .await
        .unwrap();
    let ada = Grouped {
        customer: ada().id,
        first: vec![1, 2],
        greatest: vec![800, 700],
        middle: Some(700.0),
        percentiles: vec![Some(800.0)],
    };
    assert_eq!(grouped[0], ada);
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Windows {
    #[document(flatten)]
    thing: Thing,
    slope: Option<f64>,
    area: Option<f64>,
    smooth: Option<f64>,
    filled: Option<f64>,
    carried: Option<i32>,
    near: i64,
    covariance: Option<f64>,
}

#[tokio::test]
async fn windows_compute_rates_and_fill_gaps() {
    let shop = Shop::open().await;
    if is_before(&shop, 5, 3) {
        return shop.close().await;
    }
    let things = things(&shop, 3).await;
    let rows = things
        .aggregate()
        .window_all(
            |t| t._id().asc(),
            |t| WindowsAdded {
                slope: derivative(t._id() * 2, None, Some(1), Some(0)),
                area: integral(t.n(), None, Some(1), Some(0)),
                smooth: exp_moving_avg(t._id(), 1),
                filled: linear_fill(t.gap()),
                carried: locf(t.gap()),
                near: over_range(sum(t._id()), Some(1), Some(0), None),
                covariance: covariance_pop(t._id(), t._id(), None, None),
            },
        )
        .await
        .unwrap();
    let slopes: Vec<_> = rows.iter().map(|r| r.slope).collect();
    assert_eq!(slopes, [None, Some(2.0), Some(2.0)]);
    assert_eq!(
        rows.iter().map(|r| r.area).collect::<Vec<_>>(),
        [Some(0.0), Some(6.0), Some(6.0)]
    );
    assert_eq!(
        rows.iter().map(|r| r.smooth).collect::<Vec<_>>(),
        [Some(1.0), Some(2.0), Some(3.0)]
    );
    assert_eq!(
        rows.iter().map(|r| r.filled).collect::<Vec<_>>(),
        [Some(10.0), Some(20.0), Some(30.0)]
    );
    assert_eq!(
        rows.iter().map(|r| r.carried).collect::<Vec<_>>(),
        [Some(10), Some(10), Some(30)]
    );
    assert_eq!(rows.iter().map(|r| r.near).collect::<Vec<_>>(), [1, 3, 5]);
    assert!(
        rows.iter()
            .all(|r| r.covariance.is_some_and(|c| (c - 2.0 / 3.0).abs() < 1e-9))
    );
    shop.close().await;
}
