//! Values of the application are never read as operators: whatever the value is, an update stores
//! it, and a filter finds the documents that contain it.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::common::Env;
use marula::bson::{Bson, DateTime, Document as Doc, RawDocumentBuf, Regex, Timestamp, bson, doc, to_vec};
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Error, Fields, Filter, IntoUpdate, Pattern, Update, expr};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "literals")]
struct Literal {
    _id: i64,
    #[serde(with = "marula::bson::exact", default)]
    any: Bson,
    #[serde(with = "marula::bson::exact")]
    list: Vec<Bson>,
    #[serde(with = "marula::bson::exact")]
    map: BTreeMap<String, Bson>,
    #[serde(default)]
    docs: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Part {
    #[serde(with = "marula::bson::exact")]
    v: Bson,
    #[serde(with = "marula::bson::exact")]
    list: Vec<Bson>,
}

fn part(value: &Bson) -> Part {
    Part {
        v: value.clone(),
        list: vec![start()],
    }
}

fn literal(id: i64, value: &Bson) -> Literal {
    Literal {
        _id: id,
        any: value.clone(),
        list: vec![value.clone()],
        map: BTreeMap::from([("k".to_owned(), value.clone())]),
        docs: vec![part(value)],
    }
}

/// Names of operators and of the types of Extended JSON.
const OPERATORS: [&str; 30] = [
    "$date",
    "$oid",
    "$uuid",
    "$binary",
    "$numberLong",
    "$timestamp",
    "$each",
    "$slice",
    "$sort",
    "$position",
    "$eq",
    "$ne",
    "$in",
    "$nin",
    "$all",
    "$elemMatch",
    "$not",
    "$regex",
    "$options",
    "$gt",
    "$exists",
    "$type",
    "$size",
    "$literal",
    "$expr",
    "$where",
    "$set",
    "$unset",
    "$inc",
    "$comment",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,3}", select(&OPERATORS[..]).prop_map(str::to_owned)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(&["", "$", "$any", "$$ROOT", "$each", "a.b", "^a", "abc", "é"][..]).prop_map(str::to_owned),
        "[a-z $.^*\\\\]{0,6}",
    ]
}

fn regex() -> impl Strategy<Value = Bson> {
    (
        select(&["^a", "b", ".*", "", "\\$"][..]),
        select(&["", "i", "x"][..]),
    )
        .prop_map(|(pattern, options)| {
            Bson::RegularExpression(Regex {
                pattern: pattern.try_into().expect("no NUL"),
                options: options.try_into().expect("no NUL"),
            })
        })
}

/// Numbers from 1,000, so that none is equal to one of another type.
fn scalar() -> impl Strategy<Value = Bson> {
    prop_oneof![
        4 => text().prop_map(Bson::String),
        2 => (1_000..2_000_i32).prop_map(Bson::Int32),
        1 => (3_000..4_000_i64).prop_map(Bson::Int64),
        1 => (5_000..6_000_i32).prop_map(|n| Bson::Double(f64::from(n) + 0.5)),
        1 => any::<bool>().prop_map(Bson::Boolean),
        1 => Just(Bson::Null),
        1 => Just(Bson::Undefined),
        1 => select(&[Bson::MinKey, Bson::MaxKey][..]),
        1 => (1..9_i64).prop_map(|n| Bson::DateTime(DateTime::from_millis(n))),
        1 => (1..9_u32).prop_map(|n| Bson::Timestamp(Timestamp { time: n, increment: 0 })),
        1 => "[y-z]{3}".prop_map(Bson::Symbol),
        1 => "[y-z]{3}".prop_map(Bson::JavaScriptCode),
        3 => regex(),
    ]
}

fn fields(value: impl Strategy<Value = Bson>) -> impl Strategy<Value = Doc> {
    vec((name(), value), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn nested() -> impl Strategy<Value = Bson> {
    scalar().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Bson::Array),
            fields(inner).prop_map(Bson::Document),
        ]
    })
}

/// A third are documents whose first name is that of an operator.
fn value() -> impl Strategy<Value = Bson> {
    prop_oneof![
        4 => (select(&OPERATORS[..]), nested(), fields(nested())).prop_map(|(first, value, others)| {
            let mut document = doc! { first: value };
            document.extend(others.into_iter().filter(|(name, _)| name != first));
            Bson::Document(document)
        }),
        2 => regex(),
        2 => vec(nested(), 0..3).prop_map(Bson::Array),
        3 => scalar(),
        1 => fields(nested()).prop_map(Bson::Document),
    ]
}

/// Whether the values are the same: their bytes are.
fn same(a: &Bson, b: &Bson) -> bool {
    let bytes = |value: &Bson| to_vec(&doc! { "": value }).expect("a valid document");
    bytes(a) == bytes(b)
}

/// Whether an operator on the field finds the value: as the field or as an element of an array.
fn is_found(stored: Option<&Bson>, value: &Bson) -> bool {
    match stored {
        None => matches!(value, Bson::Null),
        Some(stored) => {
            let elements = stored.as_array().map_or(&[][..], Vec::as_slice);
            same(stored, value) || elements.iter().any(|element| same(element, value))
        }
    }
}

fn is_regex(value: &Bson) -> bool {
    matches!(value, Bson::RegularExpression(_))
}

/// Whether `$in` has no form for the value.
fn is_refused_in_lists(value: &Bson) -> bool {
    let first = value.as_document().and_then(|document| document.keys().next());
    is_regex(value) || first.is_some_and(|name| name.starts_with('$'))
}

type Failure = Result<(), String>;

fn ensure(condition: bool, text: impl Display) -> Failure {
    if condition { Ok(()) } else { Err(text.to_string()) }
}

/// An update of the document `{any: 1, list: ["start"], map: {}, docs: [{v: 1, list: ["start"]}]}`,
/// and the field that it changes. For a comparison, `v` is the value.
struct Write {
    name: &'static str,
    update: fn(Fields<Literal>, Bson) -> Update<Literal>,
    /// The elements of `list` before the update.
    before: fn(&Bson) -> Vec<Bson>,
    field: &'static str,
    expected: fn(Bson) -> Bson,
    is_comparison: bool,
}

fn start() -> Bson {
    Bson::from("\u{1}start")
}

const fn write(
    name: &'static str,
    update: fn(Fields<Literal>, Bson) -> Update<Literal>,
    field: &'static str,
    expected: fn(Bson) -> Bson,
) -> Write {
    Write {
        name,
        update,
        before: |_| vec![start()],
        field,
        expected,
        is_comparison: false,
    }
}

/// A write to the list `[value, "start"]`.
const fn removal(
    name: &'static str,
    update: fn(Fields<Literal>, Bson) -> Update<Literal>,
    expected: fn(Bson) -> Bson,
) -> Write {
    Write {
        name,
        update,
        before: |value| vec![value.clone(), start()],
        field: "list",
        expected,
        is_comparison: true,
    }
}

/// A write to the list `[{v: value, list: ["start"]}]`.
const fn of_docs(
    name: &'static str,
    update: fn(Fields<Literal>, Bson) -> Update<Literal>,
    expected: fn(Bson) -> Bson,
) -> Write {
    Write {
        field: "docs",
        ..removal(name, update, expected)
    }
}

fn nested_part(value: Bson) -> Bson {
    bson!([{ "v": value, "list": [start()] }])
}

const WRITES: [Write; 19] = [
    write("set", |l, v| l.any().set(v), "any", |v| v),
    write("push", |l, v| l.list().push(v), "list", |v| bson!([start(), v])),
    write(
        "push_each",
        |l, v| l.list().push_each([v.clone(), v]).into_update(),
        "list",
        |v| bson!([start(), v.clone(), v]),
    ),
    write(
        "add_to_set",
        |l, v| l.list().add_to_set(v),
        "list",
        |v| bson!([start(), v]),
    ),
    write(
        "add_each_to_set",
        |l, v| l.list().add_each_to_set([v]),
        "list",
        |v| bson!([start(), v]),
    ),
    write("nth", |l, v| l.list().nth(0).set(v), "list", |v| bson!([v])),
    write(
        "entry",
        |l, v| l.map().entry("k").set(v),
        "map",
        |v| bson!({ "k": v }),
    ),
    removal("pull_all", |l, v| l.list().pull_all([v]), |_| bson!([start()])),
    removal("pull", |l, v| l.list().pull(|e| e.eq(v)), |_| bson!([start()])),
    removal(
        "filtered_positional",
        |l, v| l.list().filtered_positional(|e| e.eq(v)).set("x"),
        |_| bson!(["x", start()]),
    ),
    removal("set of the whole", |l, v| l.list().set(vec![v]), |v| bson!([v])),
    write(
        "min",
        |l, v| l.map().entry("k").min(v),
        "map",
        |v| bson!({ "k": v }),
    ),
    write(
        "max",
        |l, v| l.map().entry("k").max(v),
        "map",
        |v| bson!({ "k": v }),
    ),
    write(
        "nested set",
        |l, v| l.docs().nth(0).v().set(v),
        "docs",
        nested_part,
    ),
    write(
        "set of each",
        |l, v| l.docs().all_positional().v().set(v),
        "docs",
        nested_part,
    ),
    write(
        "nested push",
        |l, v| l.docs().nth(0).list().push(v),
        "docs",
        |v| bson!([{ "v": 1, "list": [start(), v] }]),
    ),
    write(
        "push of a document",
        |l, v| l.docs().push(part(&v)),
        "docs",
        |v| bson!([{ "v": 1, "list": [start()] }, { "v": v, "list": [start()] }]),
    ),
    of_docs(
        "pull by a nested field",
        |l, v| l.docs().pull(|d| d.v().eq(v)),
        |_| bson!([]),
    ),
    of_docs(
        "filtered_positional by a nested field",
        |l, v| l.docs().filtered_positional(|d| d.v().eq(v)).v().set("x"),
        |_| nested_part(bson!("x")),
    ),
];

async fn stored(literals: &Collection<Literal>, id: i64, field: &str) -> Option<Bson> {
    let raw = literals.driver().clone_with_type::<RawDocumentBuf>();
    let found = raw.find_one(doc! { "_id": id }).await.expect("a reply")?;
    let value = found.get(field).expect("valid BSON")?;
    Some(value.try_into().expect("valid BSON"))
}

/// The calls that take an update.
const CALLS: [&str; 4] = ["update_by_id", "update_many", "bulk", "find_one_and_update"];

async fn update(
    literals: &Collection<Literal>,
    call: &str,
    write: &Write,
    value: &Bson,
) -> Result<(), Error> {
    let update = |l: Fields<Literal>| (write.update)(l, value.clone());
    match call {
        "update_by_id" => literals.update_by_id(1, update).await.map(drop),
        "update_many" => literals.update_many(|l| l._id().eq(1), update).await.map(drop),
        "bulk" => literals.bulk().update_by_id(1, update).await.map(drop),
        _ => {
            let found = literals.find_one_and_update(|l| l._id().eq(1), update);
            found.required().await.map(drop)
        }
    }
}

async fn writes(literals: &Collection<Literal>, value: &Bson) -> Failure {
    for (write, call) in WRITES.iter().flat_map(|write| CALLS.map(|call| (write, call))) {
        // The record of what is sent would contain each document of a `$pull`.
        if write.name == "pull" && matches!(value, Bson::Document(_)) {
            continue;
        }
        let before = Literal {
            _id: 1,
            any: Bson::Int32(1),
            list: (write.before)(value),
            map: BTreeMap::new(),
            docs: vec![part(if write.is_comparison {
                value
            } else {
                &Bson::Int32(1)
            })],
        };
        literals
            .replace(&before)
            .upsert(true)
            .await
            .map_err(|e| format!("replace: {e}"))?;
        if let Err(error) = update(literals, call, write, value).await {
            // Nothing compares with `undefined`.
            let is_refused = write.is_comparison && matches!(value, Bson::Undefined);
            ensure(is_refused, format!("{} by {call}: {error}", write.name))?;
            continue;
        }
        let found = stored(literals, 1, write.field).await;
        let expected = (write.expected)(value.clone());
        ensure(
            found.as_ref().is_some_and(|found| same(found, &expected)),
            format!("{} by {call} stored {found:?}, not {expected:?}", write.name),
        )?;
    }
    inserts(literals, value).await
}

async fn inserts(literals: &Collection<Literal>, value: &Bson) -> Failure {
    let document = literal(2, value);
    let error = |name: &'static str| move |e: Error| format!("{name}: {e}");
    literals.delete_all().await.map_err(error("delete_all"))?;
    literals
        .insert_one(&document)
        .await
        .map_err(error("insert_one"))?;
    literals
        .replace(&literal(3, value))
        .upsert(true)
        .await
        .map_err(error("replace"))?;
    literals.save(&literal(4, value)).await.map_err(error("save"))?;
    let inserted = literals.upsert_with(|l| l._id().eq(5), |_| Update::empty(), &literal(5, value));
    inserted.await.map_err(error("upsert_with"))?;
    let set = |l: Fields<Literal>| l.any().set_on_insert(value.clone());
    let set = literals.update_by_id(6, set).upsert(true);
    set.await.map_err(error("set_on_insert"))?;
    for id in 2..=6 {
        let found = stored(literals, id, "any").await;
        ensure(
            found.as_ref().is_some_and(|found| same(found, value)),
            format!("{id} is {found:?}"),
        )?;
    }
    Ok(())
}

/// A filter, whether it finds a document, and the values that it refuses.
struct Query {
    name: &'static str,
    filter: fn(Fields<Literal>, Bson) -> Filter<Literal>,
    is_expected: fn(&Literal, &Bson) -> bool,
    is_refused: fn(&Bson) -> bool,
}

fn in_list(literal: &Literal, value: &Bson) -> bool {
    literal.list.iter().any(|element| same(element, value))
}

const QUERIES: [Query; 11] = [
    Query {
        name: "eq",
        filter: |l, v| l.any().eq(v),
        is_expected: |l, v| is_found(Some(&l.any), v),
        is_refused: |_| false,
    },
    Query {
        name: "ne",
        filter: |l, v| l.any().ne(v),
        is_expected: |l, v| !is_found(Some(&l.any), v),
        is_refused: is_regex,
    },
    Query {
        name: "not",
        filter: |l, v| l.any().not(|any| any.eq(v)),
        is_expected: |l, v| !is_found(Some(&l.any), v),
        is_refused: |_| false,
    },
    Query {
        name: "is_in",
        filter: |l, v| l.any().is_in([v, start()]),
        is_expected: |l, v| is_found(Some(&l.any), v),
        is_refused: is_refused_in_lists,
    },
    Query {
        name: "not_in",
        filter: |l, v| l.any().not_in([start(), v]),
        is_expected: |l, v| !is_found(Some(&l.any), v),
        is_refused: is_refused_in_lists,
    },
    Query {
        name: "entry",
        filter: |l, v| l.map().entry("k").eq(v),
        is_expected: |l, v| is_found(l.map.get("k"), v),
        is_refused: |_| false,
    },
    Query {
        name: "contains",
        filter: |l, v| l.list().contains(v),
        is_expected: in_list,
        is_refused: |_| false,
    },
    Query {
        name: "all",
        filter: |l, v| l.list().all([v.clone(), v]),
        is_expected: in_list,
        is_refused: |_| false,
    },
    Query {
        name: "all, with another",
        filter: |l, v| l.list().all([start(), v]),
        is_expected: |_, _| false,
        is_refused: |_| false,
    },
    Query {
        name: "elem_match",
        filter: |l, v| l.list().elem_match(|e| e.eq(v)),
        is_expected: in_list,
        is_refused: |_| false,
    },
    Query {
        name: "lit",
        filter: |l, v| Filter::expr(expr::eq(l.any(), expr::lit::<Literal, Bson>(v))),
        is_expected: |l, v| same(&l.any, v),
        is_refused: |_| false,
    },
];

/// The value, values that contain it, and values that a pattern or a condition would find.
fn neighbours(value: &Bson) -> Vec<Literal> {
    let others = [
        value.clone(),
        bson!([value.clone()]),
        bson!({ "k": value.clone() }),
        Bson::Null,
        bson!(""),
        bson!("abc"),
        bson!("$each"),
        bson!(7),
        bson!([]),
        bson!({ "a": "b" }),
        bson!(["abc", 7]),
    ];
    let mut all: Vec<Literal> = (1..).zip(&others).map(|(id, other)| literal(id, other)).collect();
    let mut whole = literal(20, &Bson::Null);
    if let Bson::Array(elements) = value {
        whole.list = elements.clone();
    }
    all.push(whole);
    let mut empty = literal(21, &bson!("empty"));
    (empty.list, empty.map) = (Vec::new(), BTreeMap::new());
    all.push(empty);
    all
}

async fn queries(literals: &Collection<Literal>, value: &Bson) -> Failure {
    if matches!(value, Bson::Undefined) {
        return Ok(());
    }
    let all = neighbours(value);
    literals
        .delete_all()
        .await
        .map_err(|e| format!("delete_all: {e}"))?;
    literals
        .insert_many(&all)
        .await
        .map_err(|e| format!("insert_many: {e}"))?;
    for query in &QUERIES {
        let found = literals
            .find(|l| (query.filter)(l, value.clone()))
            .sort(|l| l._id().asc());
        let found = match found.await {
            Ok(found) => found,
            Err(error) => {
                ensure((query.is_refused)(value), format!("{}: {error}", query.name))?;
                continue;
            }
        };
        let found: Vec<i64> = found.iter().map(|l| l._id).collect();
        let expected = all.iter().filter(|l| (query.is_expected)(l, value));
        let expected: Vec<i64> = expected.map(|l| l._id).collect();
        ensure(
            found == expected,
            format!("{} found {found:?}, not {expected:?}", query.name),
        )?;
    }
    let by_value = literals.load_by(|l| l.any(), [value.clone()]).await;
    match by_value {
        Err(Error::InvalidFilter { .. }) => ensure(is_refused_in_lists(value), "load_by is refused"),
        Err(error) => Err(format!("load_by: {error}")),
        Ok(found) => {
            let mut found: Vec<i64> = found.into_values().flatten().map(|l| l._id).collect();
            found.sort_unstable();
            let expected = all
                .iter()
                .filter(|l| !matches!(value, Bson::Null) && is_found(Some(&l.any), value));
            let expected: Vec<i64> = expected.map(|l| l._id).collect();
            ensure(
                found == expected,
                format!("load_by found {found:?}, not {expected:?}"),
            )
        }
    }
}

#[test]
fn every_value_means_itself_in_every_operator() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let env = Env::start().await;
        if env.is_before(5, 0).await {
            return env.stop().await;
        }
        let literals: Collection<Literal> = env.db.collection();
        let config = ProptestConfig {
            cases: 96,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(20),
            max_shrink_iters: 200,
            ..ProptestConfig::default()
        };
        let tested = tokio::task::block_in_place(|| {
            let run = TestRunner::new(config).run(&value(), |value| {
                let checks = async {
                    writes(&literals, &value).await?;
                    queries(&literals, &value).await
                };
                runtime.handle().block_on(checks).map_err(TestCaseError::fail)
            });
            run.map_err(|error| error.to_string())
        });
        env.stop().await;
        tested.unwrap();
    });
}

#[tokio::test]
async fn a_pulled_document_is_not_a_condition() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let literals: Collection<Literal> = env.db.collection();
    let value = bson!({ "$gt": 1 });
    let mut stored = literal(1, &value);
    stored.list.push(bson!(5));
    literals.insert_one(&stored).await.unwrap();
    let pull = literals.update_by_id(1, |l| l.list().pull(|e| e.eq(value)));
    pull.required().await.unwrap();
    assert_eq!(literals.find_by_id(1).required().await.unwrap().list, [bson!(5)]);
    env.stop().await;
}

#[tokio::test]
async fn text_is_found_literally_with_every_option() {
    #[derive(Serialize, Deserialize, Document)]
    #[document(collection = "texts")]
    struct Text {
        _id: i64,
        text: String,
    }
    let env = Env::start().await;
    let texts: Collection<Text> = env.db.collection();
    let all = [
        "a b",
        "ab",
        "a\tb",
        "a\nb",
        "a\u{b}b",
        "a#b",
        "a.b",
        "A B",
        "a\u{85}b",
        "a\u{200e}b",
        "a\u{200f}b",
        "a\u{2028}b",
        "a\u{2029}b",
    ];
    let stored = (0..).zip(all).map(|(_id, text)| Text {
        _id,
        text: text.to_owned(),
    });
    texts.insert_many(stored).await.unwrap();
    for (id, text) in (0..).zip(all) {
        for options in ["", "x", "s", "m"] {
            let pattern = (Pattern::escape(text), options);
            let found = texts.find(|t| t.text().regex(pattern)).await.unwrap();
            assert_eq!(
                found.iter().map(|t| t._id).collect::<Vec<_>>(),
                [id],
                "{text:?} {options}"
            );
        }
        let found = texts.find(|t| t.text().starts_with(text)).await.unwrap();
        assert_eq!(found.iter().map(|t| t._id).collect::<Vec<_>>(), [id], "{text:?}");
    }
    env.stop().await;
}
