//! Filter semantics, one rule of the query language per test.
#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are passed"
)]

use super::*;
use bson::doc;

fn matches(filter: Document, document: Document) -> bool {
    let env = Env::default();
    Filter::parse(&filter, &Env::default())
        .unwrap()
        .matches(&document, &env)
        .unwrap()
}

fn error(filter: Document) -> i32 {
    Filter::parse(&filter, &Env::default()).unwrap_err().code
}

#[test]
fn equality_compares_across_numeric_types() {
    assert!(matches(doc! {"a": 1}, doc! {"a": 1.0}));
    assert!(matches(doc! {"a": 1_i64}, doc! {"a": 1}));
    assert!(!matches(doc! {"a": 1}, doc! {"a": "1"}));
}

#[test]
fn equality_matches_array_elements() {
    assert!(matches(doc! {"a": 2}, doc! {"a": [1, 2]}));
    assert!(matches(doc! {"a": [1, 2]}, doc! {"a": [1, 2]}));
    assert!(matches(doc! {"a": [1, 2]}, doc! {"a": [[1, 2], 3]}));
    assert!(!matches(doc! {"a": [2, 1]}, doc! {"a": [1, 2]}));
}

#[test]
fn embedded_documents_compare_whole_and_in_order() {
    assert!(matches(
        doc! {"a": {"b": 1, "c": 2}},
        doc! {"a": {"b": 1, "c": 2}}
    ));
    assert!(!matches(
        doc! {"a": {"c": 2, "b": 1}},
        doc! {"a": {"b": 1, "c": 2}}
    ));
    assert!(!matches(doc! {"a": {"b": 1}}, doc! {"a": {"b": 1, "c": 2}}));
}

#[test]
fn null_matches_missing() {
    assert!(matches(doc! {"a": null}, doc! {}));
    assert!(matches(doc! {"a": null}, doc! {"a": null}));
    assert!(!matches(doc! {"a": null}, doc! {"a": 0}));
    assert!(matches(doc! {"a.b": null}, doc! {"a": 4}));
    assert!(!matches(doc! {"a.b": null}, doc! {"a": []}));
    assert!(matches(doc! {"a.b": null}, doc! {"a": [{"b": 1}, {}]}));
    assert!(matches(doc! {"a": {"$gte": null}}, doc! {}));
    assert!(!matches(doc! {"a": {"$gt": null}}, doc! {}));
}

#[test]
fn negation_is_the_complement() {
    assert!(matches(doc! {"a": {"$ne": 1}}, doc! {}));
    assert!(!matches(doc! {"a": {"$ne": 1}}, doc! {"a": [1, 2]}));
    assert!(matches(doc! {"a": {"$nin": [1, 2]}}, doc! {"a": 3}));
    assert!(!matches(doc! {"a": {"$nin": [1, null]}}, doc! {}));
    assert!(matches(doc! {"a": {"$not": {"$gt": 5}}}, doc! {"a": "x"}));
}

#[test]
fn ranges_compare_within_a_type() {
    assert!(matches(doc! {"a": {"$gt": 1, "$lt": 3}}, doc! {"a": 2.5}));
    assert!(!matches(doc! {"a": {"$gt": 1}}, doc! {"a": "z"}));
    assert!(matches(doc! {"a": {"$gt": "a"}}, doc! {"a": "b"}));
    assert!(matches(doc! {"a": {"$gt": Bson::MinKey}}, doc! {"a": "b"}));
    assert!(
        matches(doc! {"a": {"$gt": 4, "$lt": 2}}, doc! {"a": [1, 5]}),
        "different elements may match each condition"
    );
}

#[test]
fn nan_only_equals_itself() {
    assert!(!matches(doc! {"a": {"$lt": 5}}, doc! {"a": f64::NAN}));
    assert!(matches(doc! {"a": {"$gte": f64::NAN}}, doc! {"a": f64::NAN}));
    assert!(matches(doc! {"a": f64::NAN}, doc! {"a": f64::NAN}));
}

#[test]
fn in_accepts_values_null_and_regular_expressions() {
    let regex = bson::Regex {
        pattern: "^b".try_into().unwrap(),
        options: "".try_into().unwrap(),
    };
    let filter = doc! {"a": {"$in": [1, null, regex]}};
    assert!(matches(filter.clone(), doc! {"a": 1.0}));
    assert!(matches(filter.clone(), doc! {}));
    assert!(matches(filter.clone(), doc! {"a": "bc"}));
    assert!(!matches(filter, doc! {"a": "cb"}));
    assert_eq!(error(doc! {"a": {"$in": 1}}), 2);
}

#[test]
fn exists_and_type() {
    assert!(matches(doc! {"a": {"$exists": true}}, doc! {"a": null}));
    assert!(matches(doc! {"a.b": {"$exists": false}}, doc! {"a": []}));
    assert!(matches(doc! {"a": {"$type": "number"}}, doc! {"a": 1_i64}));
    assert!(matches(doc! {"a": {"$type": ["string", 16]}}, doc! {"a": 1}));
    assert!(matches(doc! {"a": {"$type": "array"}}, doc! {"a": []}));
    assert!(matches(doc! {"a": {"$type": "int"}}, doc! {"a": ["x", 1]}));
    assert!(!matches(doc! {"a": {"$type": "null"}}, doc! {}));
    assert_eq!(error(doc! {"a": {"$type": "foo"}}), 2);
}

#[test]
fn regex_operator_and_value() {
    assert!(matches(
        doc! {"a": {"$regex": "^X", "$options": "i"}},
        doc! {"a": "xy"}
    ));
    assert!(matches(doc! {"a": {"$not": {"$regex": "^X"}}}, doc! {"a": "y"}));
    assert!(matches(doc! {"a": {"$regex": "b"}}, doc! {"a": ["a", "b"]}));
    assert_eq!(error(doc! {"a": {"$options": "i"}}), 2);
    assert_eq!(error(doc! {"a": {"$regex": "("}}), 51091);
}

#[test]
fn arrays_size_all_elem_match() {
    assert!(matches(doc! {"a": {"$size": 2}}, doc! {"a": [1, 2]}));
    assert!(!matches(doc! {"a": {"$size": 2}}, doc! {"a": [[1, 2]]}));
    assert!(matches(doc! {"a": {"$all": [1, 2]}}, doc! {"a": [2, 3, 1]}));
    assert!(!matches(doc! {"a": {"$all": [1, 4]}}, doc! {"a": [2, 3, 1]}));
    assert!(!matches(doc! {"a": {"$all": []}}, doc! {"a": []}));
    assert!(matches(doc! {"a": {"$all": [[1, 2]]}}, doc! {"a": [1, 2]}));
    assert!(matches(
        doc! {"a": {"$elemMatch": {"$gt": 1, "$lt": 3}}},
        doc! {"a": [0, 2]}
    ));
    assert!(!matches(
        doc! {"a": {"$elemMatch": {"$gt": 1, "$lt": 3}}},
        doc! {"a": [0, 4]}
    ));
    let lines = doc! {"lines": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 5}]};
    assert!(!matches(
        doc! {"lines": {"$elemMatch": {"sku": "a", "qty": 5}}},
        lines.clone()
    ));
    assert!(matches(
        doc! {"lines": {"$elemMatch": {"sku": "b", "qty": {"$gte": 2}}}},
        lines.clone()
    ));
    assert!(matches(doc! {"lines.sku": "a", "lines.qty": 5}, lines.clone()));
    let both = doc! {"lines": {"$all": [{"$elemMatch": {"sku": "a"}}, {"$elemMatch": {"sku": "b"}}]}};
    assert!(matches(both, lines));
    assert_eq!(error(doc! {"a": {"$size": -1}}), 9);
}

#[test]
fn elem_match_does_not_traverse_nested_arrays() {
    assert!(!matches(
        doc! {"a": {"$elemMatch": {"$gt": 1}}},
        doc! {"a": [[2, 3]]}
    ));
    assert!(matches(
        doc! {"a": {"$elemMatch": {"$elemMatch": {"$gt": 1}}}},
        doc! {"a": [[2, 3]]}
    ));
    assert!(matches(
        doc! {"a": {"$elemMatch": {"$not": {"$gt": 5}, "$in": [2]}}},
        doc! {"a": [2]}
    ));
}

#[test]
fn modulo_and_bits() {
    assert!(matches(doc! {"a": {"$mod": [4, 0]}}, doc! {"a": 8}));
    assert!(matches(doc! {"a": {"$mod": [4, -1]}}, doc! {"a": -5}));
    assert!(!matches(doc! {"a": {"$mod": [4, 0]}}, doc! {"a": "8"}));
    assert_eq!(error(doc! {"a": {"$mod": [0, 1]}}), 2);
    assert!(matches(doc! {"a": {"$bitsAllSet": 6}}, doc! {"a": 7}));
    assert!(!matches(doc! {"a": {"$bitsAllSet": [0, 3]}}, doc! {"a": 7}));
    assert!(matches(doc! {"a": {"$bitsAnySet": [0, 3]}}, doc! {"a": 7}));
    assert!(matches(doc! {"a": {"$bitsAllClear": [70]}}, doc! {"a": 7}));
    assert!(matches(doc! {"a": {"$bitsAllSet": [70]}}, doc! {"a": -1}));
}

#[test]
fn logic() {
    assert!(matches(doc! {"$or": [{"a": 1}, {"b": 2}]}, doc! {"b": 2}));
    assert!(!matches(doc! {"$nor": [{"a": 1}, {"b": 2}]}, doc! {"b": 2}));
    assert!(matches(
        doc! {"$and": [{"a": {"$gt": 0}}, {"a": {"$lt": 2}}], "$comment": "x"},
        doc! {"a": 1}
    ));
    assert_eq!(error(doc! {"$or": true}), 2);
    assert_eq!(error(doc! {"$or": []}), 2);
    assert_eq!(error(doc! {"$foo": 1}), 2);
    assert_eq!(error(doc! {"a": {"$foo": 1}}), 2);
}

#[test]
fn positional_operator_index() {
    let position = |filter: Document, document: Document| {
        Filter::parse(&filter, &Env::default())
            .unwrap()
            .matches_with_position(&document, &Env::default())
            .unwrap()
    };
    assert_eq!(position(doc! {"a": 2}, doc! {"a": [1, 2]}), (true, Some(1)));
    assert_eq!(
        position(doc! {"a.b": 2}, doc! {"a": [{"b": 1}, {"b": 2}]}),
        (true, Some(1))
    );
    assert_eq!(
        position(
            doc! {"a": {"$elemMatch": {"b": 2}}},
            doc! {"a": [{"b": 1}, {"b": 2}]}
        ),
        (true, Some(1))
    );
    assert_eq!(position(doc! {"x": 2}, doc! {"x": 2}), (true, None));
}

#[test]
fn collation_applies_to_strings() {
    let collation = crate::value::collation::Collation::parse(&doc! {"locale": "en", "strength": 2}).unwrap();
    let env = Env::with_collation(collation);
    let filter = Filter::parse(&doc! {"a": {"$in": ["PING"]}}, &env).unwrap();
    assert!(filter.matches(&doc! {"a": "ping"}, &env).unwrap());
}

#[test]
fn dbrefs_are_values() {
    assert!(matches(
        doc! {"a": {"$ref": "c", "$id": 1}},
        doc! {"a": {"$ref": "c", "$id": 1}}
    ));
}

#[test]
fn min_key_and_max_key_compare_with_all_types_and_missing() {
    for document in [doc! {}, doc! {"a": null}, doc! {"a": "x"}, doc! {"a": 1}] {
        assert!(
            matches(doc! {"a": {"$gt": Bson::MinKey}}, document.clone()),
            "{document}"
        );
        assert!(
            matches(doc! {"a": {"$gte": Bson::MinKey}}, document.clone()),
            "{document}"
        );
        assert!(
            matches(doc! {"a": {"$lt": Bson::MaxKey}}, document.clone()),
            "{document}"
        );
        assert!(
            !matches(doc! {"a": {"$gt": Bson::MaxKey}}, document.clone()),
            "{document}"
        );
        assert!(!matches(doc! {"a": Bson::MinKey}, document.clone()), "{document}");
    }
}

#[test]
fn elem_match_treats_inner_arrays_as_documents() {
    assert!(matches(
        doc! {"a": {"$elemMatch": {"0": "x"}}},
        doc! {"a": [["x"]]}
    ));
    assert!(!matches(
        doc! {"a": {"$elemMatch": {"1": "x"}}},
        doc! {"a": [["x"]]}
    ));
    assert!(matches(
        doc! {"a": {"$elemMatch": {"b": {"$ne": 1}}}},
        doc! {"a": [[5]]}
    ));
    assert!(!matches(
        doc! {"a": {"$elemMatch": {"b": {"$ne": 1}}}},
        doc! {"a": [5]}
    ));
}

#[test]
fn some_operators_apply_to_whole_documents_only() {
    assert_eq!(error(doc! {"a": {"$elemMatch": {"$expr": true}}}), 2);
    assert_eq!(error(doc! {"a": {"$elemMatch": {"b": 1, "$expr": true}}}), 2);
    assert_eq!(error(doc! {"a": {"$elemMatch": {"$or": [{"$expr": true}]}}}), 2);
    assert!(matches(doc! {"$or": [{"$expr": true}]}, doc! {}));
}

#[test]
fn sample_rate_is_a_probability() {
    assert!(matches(doc! {"$sampleRate": 1}, doc! {}));
    assert!(!matches(doc! {"$sampleRate": 0.0}, doc! {}));
    let kept = (0..200)
        .filter(|_| matches(doc! {"$sampleRate": 0.5}, doc! {}))
        .count();
    // The probability of a result outside these bounds is 1e-45.
    assert!((1..200).contains(&kept), "{kept}");
    assert_eq!(error(doc! {"$sampleRate": 2}), 2);
    assert_eq!(error(doc! {"$sampleRate": "x"}), 2);
}

#[test]
fn a_numeric_path_component_has_no_position() {
    let env = Env::default();
    let position = |filter: Document, document: Document| {
        Filter::parse(&filter, &env)
            .unwrap()
            .matches_with_position(&document, &env)
            .unwrap()
    };
    assert_eq!(position(doc! {"a.0": 0}, doc! {"a": [0, 1]}), (true, None));
    assert_eq!(
        position(doc! {"a.1.b": 2}, doc! {"a": [{}, {"b": 2}]}),
        (true, None)
    );
    assert_eq!(
        position(doc! {"a.0.b": 2}, doc! {"a": [{"b": [1, 2]}]}),
        (true, Some(1))
    );
    assert_eq!(
        position(doc! {"a.b": 2}, doc! {"a": [{}, {"b": 2}]}),
        (true, Some(1))
    );
}
