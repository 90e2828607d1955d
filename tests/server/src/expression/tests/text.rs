//! Strings, arrays and documents: search bounds, and the errors of malformed arguments.

use super::{error, eval};
use bson::{Bson, doc};

#[test]
fn searches_count_code_points_or_bytes() {
    let bytes = |arguments: Vec<Bson>| eval(doc! {"$indexOfBytes": arguments}, doc! {});
    let points = |arguments: Vec<Bson>| eval(doc! {"$indexOfCP": arguments}, doc! {});
    assert_eq!(bytes(vec!["a∫∫b".into(), "b".into(), 6.into()]), 7.into());
    assert_eq!(bytes(vec!["abc".into(), "".into(), 3.into()]), 3.into());
    assert_eq!(
        bytes(vec!["abc".into(), "c".into(), 0.into(), 2.into()]),
        (-1).into()
    );
    assert_eq!(points(vec!["a∫∫b".into(), "b".into(), 2.into()]), 3.into());
    assert_eq!(
        points(vec!["cafeteria".into(), "teria".into(), 0.into(), 5.into()]),
        4.into()
    );
    assert_eq!(points(vec!["abc".into(), "".into(), 3.into()]), (-1).into());
    assert_eq!(error(doc! {"$indexOfBytes": [1, "a"]}), 40091);
    assert_eq!(error(doc! {"$indexOfBytes": ["a", 1]}), 40092);
    assert_eq!(error(doc! {"$indexOfCP": [1, "a"]}), 40093);
    assert_eq!(error(doc! {"$indexOfBytes": ["a", "a", 1.5]}), 40096);
    assert_eq!(error(doc! {"$indexOfCP": ["a", "a", -1]}), 40097);
    assert_eq!(error(doc! {"$indexOfArray": [[1], 1, "x"]}), 9_711_600);
    assert_eq!(error(doc! {"$indexOfArray": [[1], 1, -1]}), 9_711_601);
}

#[test]
fn all_matches_of_an_empty_pattern_are_before_the_end() {
    let places = |input: &str, regex: &str| {
        let found = eval(doc! {"$regexFindAll": {"input": input, "regex": regex}}, doc! {});
        let Bson::Array(found) = found else {
            panic!("{found}")
        };
        found
            .iter()
            .map(|item| item.as_document().unwrap().get_i32("idx").unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(places("abc", ""), [0, 1, 2]);
    assert_eq!(places("", ""), [0]);
    assert_eq!(places("abb", "b*"), [0, 1]);
}

#[test]
fn trimming_removes_the_listed_whitespace_only() {
    let trimmed = |text: &str| eval(doc! {"$trim": {"input": text}}, doc! {});
    assert_eq!(trimmed("\t\u{a0} a \u{2003}\n"), "a".into());
    assert_eq!(trimmed("\u{3000}a\u{2028}"), "\u{3000}a\u{2028}".into());
    assert_eq!(error(doc! {"$trim": "a"}), 50696);
    assert_eq!(error(doc! {"$trim": {"input": "a", "x": 1}}), 50694);
    assert_eq!(error(doc! {"$trim": {"chars": "a"}}), 50695);
}

#[test]
fn array_indexes_are_32_bit_integers() {
    assert_eq!(error(doc! {"$arrayElemAt": [[1], "x"]}), 28690);
    assert_eq!(error(doc! {"$arrayElemAt": [[1], 1.5]}), 28691);
    assert_eq!(error(doc! {"$arrayElemAt": [[1], 4_294_967_296_i64]}), 28691);
    assert_eq!(error(doc! {"$slice": [[1], "x"]}), 28725);
    assert_eq!(error(doc! {"$slice": [[1], 1.5]}), 28726);
    assert_eq!(error(doc! {"$slice": [[1], 0, 1.5]}), 28728);
    assert_eq!(error(doc! {"$range": [1.5, 2]}), 34444);
    assert_eq!(error(doc! {"$range": [0, 2, 0]}), 34449);
    assert_eq!(error(doc! {"$zip": {"inputs": []}}), 34465);
    assert_eq!(error(doc! {"$substrCP": ["a", 0, f64::NAN]}), 34453);
    assert_eq!(error(doc! {"$substrCP": ["a", "x", 1]}), 34450);
    assert_eq!(error(doc! {"$substrCP": ["a", 0, -1]}), 34454);
}

#[test]
fn first_last_min_and_max_n() {
    let on = |expression: bson::Document| eval(expression, doc! {"a": [3, 1, null, 2]});
    assert_eq!(on(doc! {"$firstN": {"input": "$a", "n": 2}}), vec![3, 1].into());
    assert_eq!(
        on(doc! {"$lastN": {"input": "$a", "n": 2}}),
        Bson::Array(vec![Bson::Null, 2.into()])
    );
    assert_eq!(on(doc! {"$minN": {"input": "$a", "n": 2}}), vec![1, 2].into());
    assert_eq!(on(doc! {"$maxN": {"input": "$a", "n": 9}}), vec![3, 2, 1].into());
    assert_eq!(error(doc! {"$maxN": {"input": [1], "n": "x"}}), 5_787_902);
    assert_eq!(error(doc! {"$maxN": {"input": [1], "n": 1.5}}), 5_787_903);
    assert_eq!(error(doc! {"$maxN": {"input": [1], "n": 0}}), 5_787_908);
    assert_eq!(error(doc! {"$maxN": {"input": 1, "n": 1}}), 5_788_200);
    assert_eq!(error(doc! {"$maxN": {"input": [1]}}), 5_787_906);
    assert_eq!(error(doc! {"$firstN": 1}), 5_787_801);
}

#[test]
fn sizes_of_values() {
    let document = doc! {"a": {"b": 1}, "s": "aé"};
    assert_eq!(eval(doc! {"$bsonSize": "$a"}, document.clone()), 12.into());
    assert_eq!(eval(doc! {"$binarySize": "$s"}, document.clone()), 3.into());
    assert_eq!(eval(doc! {"$bsonSize": "$x"}, document), Bson::Null);
    assert_eq!(error(doc! {"$bsonSize": 1}), 31393);
    assert_eq!(error(doc! {"$binarySize": 1}), 51276);
}

#[test]
fn malformed_paths_and_arguments() {
    assert_eq!(error("$a."), 40353);
    assert_eq!(error("$a..b"), 15998);
    assert_eq!(error("$"), 16872);
    assert_eq!(error(doc! {"$cond": {"then": 1, "else": 1}}), 17080);
    assert_eq!(error(doc! {"$cond": {"if": 1, "else": 1}}), 17081);
    assert_eq!(error(doc! {"$cond": {"if": 1, "then": 1}}), 17082);
    assert_eq!(error(doc! {"$switch": {"branches": [{"then": 1}]}}), 40064);
    assert_eq!(error(doc! {"$switch": {"branches": [{"case": true}]}}), 40065);
    assert_eq!(error(doc! {"$reduce": {"input": [], "in": 1}}), 40078);
    assert_eq!(error(doc! {"$toInt": [1, 2]}), 50723);
}
