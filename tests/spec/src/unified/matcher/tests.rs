//! Matching and non-matching values.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the values are written where they are passed"
)]

use marula_driver::bson::{Binary, Bson, Decimal128, Document, bson, doc, spec::BinarySubtype};

use super::{Lookup, identical_or_typed, matches};

struct Entities;

impl Lookup for Entities {
    fn value(&self, id: &str) -> Result<Bson, String> {
        match id {
            "doc" => Ok(bson!({ "x": 1, "y": { "z": 2 } })),
            "operator" => Ok(bson!({ "$$exists": true })),
            _ => Err(format!("unknown entity \"{id}\"")),
        }
    }

    fn session_id(&self, id: &str) -> Result<Document, String> {
        match id {
            "session0" => Ok(doc! { "id": 7 }),
            _ => Err(format!("unknown session \"{id}\"")),
        }
    }
}

fn is_match(expected: Bson, actual: Bson) -> bool {
    matches(&expected, Some(&actual), false, &Entities).is_ok()
}

fn is_root_match(expected: Bson, actual: Bson) -> bool {
    matches(&expected, Some(&actual), true, &Entities).is_ok()
}

fn mismatch(expected: Bson, actual: Bson) -> String {
    matches(&expected, Some(&actual), true, &Entities).expect_err("a mismatch")
}

#[test]
fn additional_keys_are_allowed_in_root_documents_only() {
    assert!(is_root_match(bson!({ "a": 1 }), bson!({ "b": 2, "a": 1 })));
    assert!(!is_match(bson!({ "a": 1 }), bson!({ "b": 2, "a": 1 })));
    assert!(!is_root_match(
        bson!({ "a": { "b": 1 } }),
        bson!({ "a": { "b": 1, "c": 2 } })
    ));
    assert!(!is_root_match(bson!([{ "a": 1 }]), bson!([{ "a": 1, "b": 2 }])));
    assert!(is_match(bson!({ "a": 1, "b": 2 }), bson!({ "b": 2, "a": 1 })));
}

#[test]
fn numbers_are_compared_flexibly_and_other_types_strictly() {
    for one in [Bson::Int32(1), Bson::Int64(1), Bson::Double(1.0)] {
        for other in [Bson::Int32(1), Bson::Int64(1), Bson::Double(1.0)] {
            assert!(is_match(one.clone(), other));
        }
        assert!(!is_match(one.clone(), Bson::Int32(2)));
        assert!(!is_match(one.clone(), Bson::Double(1.5)));
        assert!(!is_match(one.clone(), Bson::String("1".into())));
        assert!(!is_match(
            one,
            Bson::Decimal128("1".parse::<Decimal128>().expect("a number"))
        ));
    }
    assert!(!is_match(
        Bson::Int64(9_007_199_254_740_993),
        Bson::Int64(9_007_199_254_740_992)
    ));
    assert!(!is_match(bson!(null), bson!(false)));
    assert!(!is_match(bson!("a"), Bson::Symbol("a".into())));
}

#[test]
fn arrays_match_in_order_and_length() {
    assert!(is_match(bson!([1, { "a": 2 }]), bson!([1, { "a": 2 }])));
    assert!(!is_match(bson!([1, 2]), bson!([2, 1])));
    assert!(!is_match(bson!([1]), bson!([1, 2])));
    assert!(!is_match(bson!([]), bson!({})));
}

#[test]
fn exists_tests_keys() {
    let wanted = bson!({ "a": { "$$exists": true } });
    assert!(is_match(wanted.clone(), bson!({ "a": null })));
    assert!(!is_match(wanted, bson!({})));
    let unwanted = bson!({ "a": { "$$exists": false } });
    assert!(is_match(unwanted.clone(), bson!({})));
    assert!(!is_match(unwanted, bson!({ "a": null })));
    assert!(!is_match(bson!({ "$$exists": true }), bson!(1)));
    assert!(!is_match(bson!({ "a": { "$$exists": 1 } }), bson!({ "a": 1 })));
}

#[test]
fn type_accepts_aliases() {
    let of = |names: Bson| bson!({ "a": { "$$type": names } });
    assert!(is_match(of(bson!("int")), bson!({ "a": 1 })));
    assert!(is_match(of(bson!(["string", "long"])), bson!({ "a": 1_i64 })));
    assert!(is_match(of(bson!("number")), bson!({ "a": 1.5 })));
    assert!(!is_match(of(bson!("long")), bson!({ "a": 1 })));
    assert!(!is_match(of(bson!("int")), bson!({ "a": [1] })));
    assert!(!is_match(of(bson!("int")), bson!({})));
    assert!(!is_match(of(bson!("integer")), bson!({ "a": 1 })));
    assert!(!is_match(of(bson!([])), bson!({ "a": 1 })));
}

#[test]
fn unset_or_matches() {
    let expected = bson!({ "$$unsetOrMatches": { "a": 1 } });
    assert!(matches(&expected, None, false, &Entities).is_ok());
    assert!(is_match(expected.clone(), bson!({ "a": 1 })));
    assert!(!is_match(expected.clone(), bson!({ "a": 2 })));
    assert!(!is_match(expected.clone(), bson!({ "a": 1, "b": 1 })));
    assert!(is_root_match(expected.clone(), bson!({ "a": 1, "b": 1 })));
    assert!(!is_match(bson!([expected]), bson!([{ "a": 1 }])));
    let nested = bson!({ "a": { "$$unsetOrMatches": { "$$type": "int" } } });
    assert!(is_match(nested.clone(), bson!({})));
    assert!(!is_match(nested, bson!({ "a": "x" })));
}

#[test]
fn entities_are_compared_literally() {
    let expected = bson!({ "$$matchesEntity": "doc" });
    assert!(is_match(expected.clone(), bson!({ "y": { "z": 2_i64 }, "x": 1 })));
    assert!(!is_match(expected.clone(), bson!({ "x": 1, "y": { "z": 3 } })));
    assert!(!is_match(
        expected.clone(),
        bson!({ "x": 1, "y": { "z": 2 }, "w": 0 })
    ));
    assert!(is_root_match(
        expected,
        bson!({ "x": 1, "y": { "z": 2 }, "w": 0 })
    ));
    assert!(!is_match(bson!({ "$$matchesEntity": "operator" }), bson!(1)));
    assert!(!is_match(bson!({ "$$matchesEntity": "nothing" }), bson!(1)));
    assert!(is_match(
        bson!({ "$$sessionLsid": "session0" }),
        bson!({ "id": 7 })
    ));
    assert!(!is_match(
        bson!({ "$$sessionLsid": "session0" }),
        bson!({ "id": 8 })
    ));
    assert!(!is_match(
        bson!({ "$$sessionLsid": "session1" }),
        bson!({ "id": 7 })
    ));
}

#[test]
fn hex_bytes_and_lte() {
    let bytes = |bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: bytes.to_vec(),
        })
    };
    assert!(is_match(bson!({ "$$matchesHexBytes": "00fF" }), bytes(&[0, 255])));
    assert!(!is_match(bson!({ "$$matchesHexBytes": "00" }), bytes(&[0, 255])));
    assert!(!is_match(bson!({ "$$matchesHexBytes": "0" }), bytes(&[0])));
    assert!(is_match(bson!({ "$$matchesHexBytes": "" }), bytes(&[])));
    assert!(is_match(bson!({ "$$lte": 5 }), bson!(5.0)));
    assert!(!is_match(bson!({ "$$lte": 5 }), bson!(6_i64)));
    assert!(!is_match(bson!({ "$$lte": 5 }), bson!("5")));
}

#[test]
fn strings_can_be_matched_as_documents() {
    let expected = bson!({ "$$matchAsDocument": { "a": 1 } });
    assert!(is_match(expected.clone(), bson!("{\"a\": 1}")));
    assert!(!is_match(expected.clone(), bson!("{\"a\": 1, \"b\": 2}")));
    assert!(!is_match(expected.clone(), bson!("not json")));
    assert!(!is_match(expected, bson!({ "a": 1 })));
    let root = bson!({ "$$matchAsDocument": { "$$matchAsRoot": { "a": 1 } } });
    assert!(is_match(root.clone(), bson!("{\"a\": 1, \"b\": 2}")));
    assert!(!is_match(root, bson!("{\"b\": 2}")));
    assert!(!is_match(
        bson!({ "$$matchAsRoot": { "a": 1 } }),
        bson!("{\"a\": 1}")
    ));
}

#[test]
fn invalid_operators_are_errors() {
    for expected in [
        bson!({ "$$placeholder": 1 }),
        bson!({ "$$hexBytes": "00" }),
        bson!({ "$$unknown": 1 }),
        bson!({ "$$exists": true, "a": 1 }),
    ] {
        assert!(!is_root_match(expected, bson!({ "a": 1 })));
    }
}

#[test]
fn messages_contain_the_path() {
    let message = mismatch(bson!({ "a": [{ "b": 1 }] }), bson!({ "a": [{ "b": 2 }] }));
    assert!(
        message.starts_with("$.a[0].b: expected 1 (int), found 2 (int)"),
        "{message}"
    );
    let message = mismatch(bson!({ "a": { "b": 1 } }), bson!({ "a": { "b": 1, "c": 1 } }));
    assert!(message.starts_with("$.a: unexpected key \"c\""), "{message}");
}

#[test]
fn documents_of_an_outcome_may_have_types() {
    let expected = bson!([{ "a": { "$$type": ["int", "long"] }, "b": 1 }]);
    let equal = |actual: Bson| identical_or_typed(&expected, &actual);
    assert!(equal(bson!([{ "b": 1, "a": 2_i64 }])));
    assert!(!equal(bson!([{ "a": "x", "b": 1 }])));
    assert!(!equal(bson!([{ "a": 2, "b": 1_i64 }])));
    assert!(!equal(bson!([{ "a": 2, "b": 1, "c": 1 }])));
    assert!(!equal(bson!([{ "b": 1 }])));
    assert!(!equal(bson!([])));
    assert!(!identical_or_typed(&bson!({ "$$type": "foo" }), &bson!(1)));
}
