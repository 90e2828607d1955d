//! Expression semantics.
#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are passed"
)]

use super::*;
use bson::{DateTime, doc};

mod conversions;
mod dates;
mod numbers;
mod text;

fn eval(expression: impl Into<Bson>, document: Document) -> Bson {
    let env = Env::default();
    Expression::parse(&expression.into(), &env)
        .unwrap()
        .evaluate(&document, &env)
        .unwrap()
}

fn error(expression: impl Into<Bson>) -> i32 {
    let env = Env::default();
    match Expression::parse(&expression.into(), &env) {
        Err(error) => error.code,
        Ok(parsed) => parsed.evaluate(&doc! {}, &env).unwrap_err().code,
    }
}

fn at(text: &str) -> Bson {
    Bson::DateTime(DateTime::parse_rfc3339_str(text).unwrap())
}

#[test]
fn paths_and_variables() {
    let document = doc! {"a": {"b": 1}, "list": [{"x": 1}, {"y": 2}, {"x": 3}, 4]};
    assert_eq!(eval("$a.b", document.clone()), Bson::Int32(1));
    assert_eq!(eval("$list.x", document.clone()), vec![1, 3].into());
    assert_eq!(eval("$none", document.clone()), Bson::Undefined);
    assert_eq!(eval("$$ROOT.a.b", document.clone()), Bson::Int32(1));
    assert_eq!(eval("$list.0", document), Bson::Array(vec![]));
    assert_eq!(error("$$nope"), 17276);
    assert_eq!(error("$a..b"), 15998);
}

#[test]
fn missing_values_are_omitted_from_objects_and_null_in_arrays() {
    assert_eq!(eval(doc! {"a": "$x", "b": 1}, doc! {}), doc! {"b": 1}.into());
    assert_eq!(
        eval(vec![Bson::from("$x"), 1.into()], doc! {}),
        Bson::Array(vec![Bson::Null, 1.into()])
    );
    assert_eq!(eval(doc! {"$literal": "$x"}, doc! {}), "$x".into());
}

#[test]
fn unknown_operators_and_arity() {
    assert_eq!(error(doc! {"$foo": 1}), 168);
    assert_eq!(error(doc! {"$subtract": [1]}), 16020);
    assert_eq!(error(doc! {"$add": 1, "$subtract": 2}), 15983);
}

#[test]
fn arithmetic() {
    assert_eq!(eval(doc! {"$add": [1, 2.5]}, doc! {}), 3.5.into());
    assert_eq!(
        eval(doc! {"$add": [i64::MAX, 1]}, doc! {}),
        9.223_372_036_854_776e18.into()
    );
    assert_eq!(eval(doc! {"$subtract": [5, 7_i64]}, doc! {}), (-2_i64).into());
    assert_eq!(eval(doc! {"$multiply": [2, "$x"]}, doc! {"x": 4}), 8.into());
    assert_eq!(eval(doc! {"$divide": [7, 2]}, doc! {}), 3.5.into());
    assert_eq!(eval(doc! {"$mod": [-7, 3]}, doc! {}), (-1).into());
    assert_eq!(eval(doc! {"$add": [1, null]}, doc! {}), Bson::Null);
    assert_eq!(eval(doc! {"$abs": -3}, doc! {}), 3.into());
    assert_eq!(
        eval(doc! {"$pow": [2, 40]}, doc! {}),
        1_099_511_627_776_i64.into()
    );
    assert_eq!(eval(doc! {"$sqrt": 9}, doc! {}), 3.0.into());
    assert_eq!(error(doc! {"$divide": [1, 0]}), 2);
    assert_eq!(error(doc! {"$add": ["x", 1]}), 14);
}

#[test]
fn rounding_is_half_to_even() {
    assert_eq!(eval(doc! {"$round": [2.5]}, doc! {}), 2.0.into());
    assert_eq!(eval(doc! {"$round": [1.255, 1]}, doc! {}), 1.3.into());
    assert_eq!(eval(doc! {"$round": [1250, -2]}, doc! {}), 1200.into());
    assert_eq!(eval(doc! {"$trunc": [-1.99, 1]}, doc! {}), (-1.9).into());
    assert_eq!(eval(doc! {"$ceil": 1.2}, doc! {}), 2.0.into());
    assert_eq!(eval(doc! {"$floor": -1.2}, doc! {}), (-2.0).into());
}

#[test]
fn arithmetic_accepts_dates() {
    let later = eval(doc! {"$add": [at("2020-01-01T00:00:00Z"), 1000]}, doc! {});
    assert_eq!(later, at("2020-01-01T00:00:01Z"));
    assert_eq!(
        eval(doc! {"$subtract": [later, at("2020-01-01T00:00:00Z")]}, doc! {}),
        1000_i64.into()
    );
}

#[test]
fn comparison_distinguishes_missing_from_null() {
    assert_eq!(eval(doc! {"$eq": ["$x", null]}, doc! {}), false.into());
    assert_eq!(eval(doc! {"$lt": ["$x", null]}, doc! {}), true.into());
    assert_eq!(eval(doc! {"$gt": ["a", 5]}, doc! {}), true.into());
    assert_eq!(eval(doc! {"$cmp": [1, 2]}, doc! {}), (-1).into());
}

#[test]
fn conditions() {
    assert_eq!(
        eval(
            doc! {"$cond": [{"$gt": ["$a", 1]}, "big", "small"]},
            doc! {"a": 2}
        ),
        "big".into()
    );
    assert_eq!(
        eval(doc! {"$cond": {"if": "$a", "then": 1, "else": 2}}, doc! {}),
        2.into()
    );
    assert_eq!(
        eval(doc! {"$ifNull": ["$a", "$b", 3]}, doc! {"b": null}),
        3.into()
    );
    let switch =
        doc! {"$switch": {"branches": [{"case": {"$eq": ["$a", 1]}, "then": "one"}], "default": "other"}};
    assert_eq!(eval(switch, doc! {"a": 1}), "one".into());
    assert_eq!(
        error(doc! {"$switch": {"branches": [{"case": false, "then": 1}]}}),
        40069
    );
    assert_eq!(
        error(doc! {"$switch": {"branches": [{"case": "$a", "then": 1}]}}),
        40066
    );
    assert_eq!(eval(doc! {"$and": [1, "x", {"$not": [0]}]}, doc! {}), true.into());
    assert_eq!(eval(doc! {"$or": [0, null]}, doc! {}), false.into());
}

#[test]
fn strings() {
    assert_eq!(eval(doc! {"$concat": ["a", "$b"]}, doc! {"b": "c"}), "ac".into());
    assert_eq!(eval(doc! {"$concat": ["a", "$b"]}, doc! {}), Bson::Null);
    assert_eq!(eval(doc! {"$toUpper": "aé"}, doc! {}), "Aé".into());
    assert_eq!(eval(doc! {"$substrCP": ["héllo", 1, 2]}, doc! {}), "él".into());
    assert_eq!(eval(doc! {"$strLenCP": "hé"}, doc! {}), 2.into());
    assert_eq!(eval(doc! {"$strLenBytes": "hé"}, doc! {}), 3.into());
    assert_eq!(
        eval(doc! {"$split": ["a-b", "-"]}, doc! {}),
        vec!["a", "b"].into()
    );
    assert_eq!(eval(doc! {"$trim": {"input": "  a "}}, doc! {}), "a".into());
    assert_eq!(
        eval(doc! {"$ltrim": {"input": "xxa", "chars": "x"}}, doc! {}),
        "a".into()
    );
    assert_eq!(eval(doc! {"$indexOfCP": ["cafétier", "t"]}, doc! {}), 4.into());
    assert_eq!(
        eval(
            doc! {"$replaceAll": {"input": "aba", "find": "a", "replacement": "x"}},
            doc! {}
        ),
        "xbx".into()
    );
    assert_eq!(
        eval(
            doc! {"$regexMatch": {"input": "Abc", "regex": "^a", "options": "i"}},
            doc! {}
        ),
        true.into()
    );
    let found = eval(doc! {"$regexFind": {"input": "xéb", "regex": "(é)(z)?"}}, doc! {});
    assert_eq!(
        found,
        doc! {"match": "é", "idx": 1, "captures": ["é", null]}.into()
    );
    assert_eq!(error(doc! {"$concat": [1]}), 16702);
    assert_eq!(error(doc! {"$substrBytes": ["é", 1, 1]}), 28656);
}

#[test]
fn arrays() {
    let document = doc! {"a": [1, 2, 3, 4]};
    let on = |expression: Document| eval(expression, document.clone());
    assert_eq!(on(doc! {"$size": "$a"}), 4.into());
    assert_eq!(on(doc! {"$arrayElemAt": ["$a", -1]}), 4.into());
    assert_eq!(on(doc! {"$arrayElemAt": ["$a", 9]}), Bson::Undefined);
    assert_eq!(on(doc! {"$slice": ["$a", 1, 2]}), vec![2, 3].into());
    assert_eq!(on(doc! {"$slice": ["$a", -2]}), vec![3, 4].into());
    assert_eq!(on(doc! {"$in": [3, "$a"]}), true.into());
    assert_eq!(
        on(doc! {"$concatArrays": ["$a", [5]]}),
        vec![1, 2, 3, 4, 5].into()
    );
    assert_eq!(on(doc! {"$reverseArray": "$a"}), vec![4, 3, 2, 1].into());
    assert_eq!(on(doc! {"$range": [0, 10, 4]}), vec![0, 4, 8].into());
    assert_eq!(on(doc! {"$indexOfArray": ["$a", 3]}), 2.into());
    assert_eq!(on(doc! {"$sum": "$a"}), 10.into());
    assert_eq!(on(doc! {"$max": [1, "$none", 7]}), 7.into());
    assert_eq!(on(doc! {"$isArray": ["$a"]}), true.into());
    assert_eq!(
        eval(
            doc! {"$zip": {"inputs": [[1, 2], ["a"]], "useLongestLength": true}},
            doc! {}
        ),
        Bson::Array(vec![
            Bson::Array(vec![1.into(), "a".into()]),
            Bson::Array(vec![2.into(), Bson::Null])
        ])
    );
    assert_eq!(
        eval(doc! {"$sortArray": {"input": [3, 1, 2], "sortBy": -1}}, doc! {}),
        vec![3, 2, 1].into()
    );
    assert_eq!(error(doc! {"$size": "$x"}), 17124);
    assert_eq!(error(doc! {"$in": [1, 2]}), 40081);
}

#[test]
fn iteration() {
    let document = doc! {"lines": [{"q": 1}, {"q": 3}]};
    let on = |expression: Document| eval(expression, document.clone());
    assert_eq!(
        on(doc! {"$map": {"input": "$lines", "as": "l", "in": {"$add": ["$$l.q", 1]}}}),
        vec![2, 4].into()
    );
    assert_eq!(
        on(doc! {"$filter": {"input": "$lines", "cond": {"$gt": ["$$this.q", 2]}}}),
        Bson::Array(vec![doc! {"q": 3}.into()])
    );
    assert_eq!(
        on(doc! {"$reduce": {"input": "$lines.q", "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}),
        4.into()
    );
    assert_eq!(
        on(doc! {"$let": {"vars": {"x": 2, "y": 3}, "in": {"$multiply": ["$$x", "$$y"]}}}),
        6.into()
    );
    assert_eq!(error(doc! {"$let": {"vars": {"x": 2}, "in": "$$y"}}), 17276);
    assert_eq!(error(doc! {"$map": {"input": 1, "in": 1}}), 16883);
}

#[test]
fn sets_and_objects() {
    assert_eq!(
        eval(doc! {"$setUnion": [[2, 1], [1, 3]]}, doc! {}),
        vec![1, 2, 3].into()
    );
    assert_eq!(
        eval(doc! {"$setIntersection": [[1, 2], [2]]}, doc! {}),
        vec![2].into()
    );
    assert_eq!(
        eval(doc! {"$setDifference": [[3, 1, 2], [2]]}, doc! {}),
        vec![3, 1].into()
    );
    assert_eq!(eval(doc! {"$setIsSubset": [[1], [1, 2]]}, doc! {}), true.into());
    assert_eq!(eval(doc! {"$setEquals": [[1, 1], [1]]}, doc! {}), true.into());
    assert_eq!(
        eval(doc! {"$mergeObjects": ["$a", {"y": 2}]}, doc! {"a": {"x": 1}}),
        doc! {"x": 1, "y": 2}.into()
    );
    assert_eq!(eval(doc! {"$getField": "a.b"}, doc! {"a.b": 5}), 5.into());
    assert_eq!(
        eval(
            doc! {"$setField": {"field": {"$literal": "$x"}, "input": "$$ROOT", "value": 1}},
            doc! {"$x": 0}
        ),
        doc! {"$x": 1}.into()
    );
    assert_eq!(
        eval(doc! {"$objectToArray": {"a": 1}}, doc! {}),
        Bson::Array(vec![doc! {"k": "a", "v": 1}.into()])
    );
    assert_eq!(
        eval(doc! {"$arrayToObject": [[["a", 1]]]}, doc! {}),
        doc! {"a": 1}.into()
    );
}

#[test]
fn conversions() {
    assert_eq!(eval(doc! {"$toInt": "12"}, doc! {}), 12.into());
    assert_eq!(eval(doc! {"$toLong": 1.9}, doc! {}), 1_i64.into());
    assert_eq!(eval(doc! {"$toString": true}, doc! {}), "true".into());
    assert_eq!(eval(doc! {"$toBool": "false"}, doc! {}), true.into());
    assert_eq!(eval(doc! {"$toDecimal": "1.50"}, doc! {}).to_string(), "1.50");
    assert_eq!(
        eval(doc! {"$toDate": "2020-01-01T00:00:00Z"}, doc! {}),
        at("2020-01-01T00:00:00Z")
    );
    assert_eq!(
        eval(
            doc! {"$convert": {"input": "x", "to": "int", "onError": -1}},
            doc! {}
        ),
        (-1).into()
    );
    assert_eq!(eval(doc! {"$type": "$x"}, doc! {}), "missing".into());
    assert_eq!(error(doc! {"$toInt": "x"}), 241);
    assert_eq!(error(doc! {"$toInt": 3e10}), 241);
}

#[test]
fn date_parts_and_formats() {
    let document = doc! {"d": at("2024-02-29T13:04:05.678Z")};
    let on = |expression: Document| eval(expression, document.clone());
    assert_eq!(on(doc! {"$year": "$d"}), 2024.into());
    assert_eq!(on(doc! {"$dayOfYear": "$d"}), 60.into());
    assert_eq!(
        on(doc! {"$hour": {"date": "$d", "timezone": "+02:00"}}),
        15.into()
    );
    assert_eq!(
        on(doc! {"$dateToString": {"date": "$d", "format": "%Y/%m/%d %H:%M:%S.%L"}}),
        "2024/02/29 13:04:05.678".into()
    );
    assert_eq!(
        on(doc! {"$dateToString": {"date": "$d"}}),
        "2024-02-29T13:04:05.678Z".into()
    );
    assert_eq!(
        on(doc! {"$dateTrunc": {"date": "$d", "unit": "month"}}),
        at("2024-02-01T00:00:00Z")
    );
    assert_eq!(
        on(doc! {"$dateTrunc": {"date": "$d", "unit": "hour", "binSize": 6}}),
        at("2024-02-29T12:00:00Z")
    );
    assert_eq!(
        on(doc! {"$dateTrunc": {"date": "$d", "unit": "week", "startOfWeek": "monday"}}),
        at("2024-02-26T00:00:00Z")
    );
    assert_eq!(
        on(doc! {"$dateAdd": {"startDate": "$d", "unit": "year", "amount": 1}}),
        at("2025-02-28T13:04:05.678Z")
    );
    assert_eq!(
        on(doc! {"$dateDiff": {"startDate": at("2023-12-31T00:00:00Z"), "endDate": "$d", "unit": "month"}}),
        2_i64.into()
    );
    assert_eq!(
        error(doc! {"$dateToString": {"date": at("2024-02-29T13:04:05Z"), "format": "%q"}}),
        18536
    );
}
