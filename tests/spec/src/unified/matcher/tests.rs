//! Values that fit, and values that do not.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the values are written where they are passed"
)]

use marula_driver::bson::{Binary, Bson, Decimal128, Document, bson, doc, spec::BinarySubtype};

use super::{Lookup, matches};

struct Entities;

impl Lookup for Entities {
    fn value(&self, id: &str) -> Result<Bson, String> {
        match id {
            "doc" => Ok(bson!({ "x": 1, "y": { "z": 2 } })),
            "operator" => Ok(bson!({ "$$exists": true })),
            _ => Err(format!("no entity \"{id}\"")),
        }
    }

    fn session_id(&self, id: &str) -> Result<Document, String> {
        match id {
            "session0" => Ok(doc! { "id": 7 }),
            _ => Err(format!("no session \"{id}\"")),
        }
    }
}

fn fits(expected: Bson, actual: Bson) -> bool {
    matches(&expected, Some(&actual), false, &Entities).is_ok()
}

fn fits_as_root(expected: Bson, actual: Bson) -> bool {
    matches(&expected, Some(&actual), true, &Entities).is_ok()
}

fn fault(expected: Bson, actual: Bson) -> String {
    matches(&expected, Some(&actual), true, &Entities).expect_err("should not fit")
}

#[test]
fn extra_keys_are_allowed_at_the_root_only() {
    assert!(fits_as_root(bson!({ "a": 1 }), bson!({ "b": 2, "a": 1 })));
    assert!(!fits(bson!({ "a": 1 }), bson!({ "b": 2, "a": 1 })));
    assert!(!fits_as_root(
        bson!({ "a": { "b": 1 } }),
        bson!({ "a": { "b": 1, "c": 2 } })
    ));
    assert!(!fits_as_root(bson!([{ "a": 1 }]), bson!([{ "a": 1, "b": 2 }])));
    assert!(fits(bson!({ "a": 1, "b": 2 }), bson!({ "b": 2, "a": 1 })));
}

#[test]
fn numbers_are_loose_and_other_types_are_not() {
    for one in [Bson::Int32(1), Bson::Int64(1), Bson::Double(1.0)] {
        for other in [Bson::Int32(1), Bson::Int64(1), Bson::Double(1.0)] {
            assert!(fits(one.clone(), other));
        }
        assert!(!fits(one.clone(), Bson::Int32(2)));
        assert!(!fits(one.clone(), Bson::Double(1.5)));
        assert!(!fits(one.clone(), Bson::String("1".into())));
        assert!(!fits(
            one,
            Bson::Decimal128("1".parse::<Decimal128>().expect("a number"))
        ));
    }
    assert!(!fits(
        Bson::Int64(9_007_199_254_740_993),
        Bson::Int64(9_007_199_254_740_992)
    ));
    assert!(!fits(bson!(null), bson!(false)));
    assert!(!fits(bson!("a"), Bson::Symbol("a".into())));
}

#[test]
fn arrays_match_in_order_and_length() {
    assert!(fits(bson!([1, { "a": 2 }]), bson!([1, { "a": 2 }])));
    assert!(!fits(bson!([1, 2]), bson!([2, 1])));
    assert!(!fits(bson!([1]), bson!([1, 2])));
    assert!(!fits(bson!([]), bson!({})));
}

#[test]
fn exists_is_about_keys() {
    let wanted = bson!({ "a": { "$$exists": true } });
    assert!(fits(wanted.clone(), bson!({ "a": null })));
    assert!(!fits(wanted, bson!({})));
    let unwanted = bson!({ "a": { "$$exists": false } });
    assert!(fits(unwanted.clone(), bson!({})));
    assert!(!fits(unwanted, bson!({ "a": null })));
    assert!(!fits(bson!({ "$$exists": true }), bson!(1)));
    assert!(!fits(bson!({ "a": { "$$exists": 1 } }), bson!({ "a": 1 })));
}

#[test]
fn type_takes_aliases() {
    let of = |names: Bson| bson!({ "a": { "$$type": names } });
    assert!(fits(of(bson!("int")), bson!({ "a": 1 })));
    assert!(fits(of(bson!(["string", "long"])), bson!({ "a": 1_i64 })));
    assert!(fits(of(bson!("number")), bson!({ "a": 1.5 })));
    assert!(!fits(of(bson!("long")), bson!({ "a": 1 })));
    assert!(!fits(of(bson!("int")), bson!({ "a": [1] })));
    assert!(!fits(of(bson!("int")), bson!({})));
    assert!(!fits(of(bson!("integer")), bson!({ "a": 1 })));
    assert!(!fits(of(bson!([])), bson!({ "a": 1 })));
}

#[test]
fn unset_or_matches() {
    let expected = bson!({ "$$unsetOrMatches": { "a": 1 } });
    assert!(matches(&expected, None, false, &Entities).is_ok());
    assert!(fits(expected.clone(), bson!({ "a": 1 })));
    assert!(!fits(expected.clone(), bson!({ "a": 2 })));
    assert!(!fits(expected.clone(), bson!({ "a": 1, "b": 1 })));
    assert!(fits_as_root(expected.clone(), bson!({ "a": 1, "b": 1 })));
    assert!(!fits(bson!([expected]), bson!([{ "a": 1 }])));
    let nested = bson!({ "a": { "$$unsetOrMatches": { "$$type": "int" } } });
    assert!(fits(nested.clone(), bson!({})));
    assert!(!fits(nested, bson!({ "a": "x" })));
}

#[test]
fn entities_are_compared_literally() {
    let expected = bson!({ "$$matchesEntity": "doc" });
    assert!(fits(expected.clone(), bson!({ "y": { "z": 2_i64 }, "x": 1 })));
    assert!(!fits(expected.clone(), bson!({ "x": 1, "y": { "z": 3 } })));
    assert!(!fits(
        expected.clone(),
        bson!({ "x": 1, "y": { "z": 2 }, "w": 0 })
    ));
    assert!(fits_as_root(expected, bson!({ "x": 1, "y": { "z": 2 }, "w": 0 })));
    assert!(!fits(bson!({ "$$matchesEntity": "operator" }), bson!(1)));
    assert!(!fits(bson!({ "$$matchesEntity": "nothing" }), bson!(1)));
    assert!(fits(bson!({ "$$sessionLsid": "session0" }), bson!({ "id": 7 })));
    assert!(!fits(bson!({ "$$sessionLsid": "session0" }), bson!({ "id": 8 })));
    assert!(!fits(bson!({ "$$sessionLsid": "session1" }), bson!({ "id": 7 })));
}

#[test]
fn bytes_and_bounds() {
    let bytes = |bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: bytes.to_vec(),
        })
    };
    assert!(fits(bson!({ "$$matchesHexBytes": "00fF" }), bytes(&[0, 255])));
    assert!(!fits(bson!({ "$$matchesHexBytes": "00" }), bytes(&[0, 255])));
    assert!(!fits(bson!({ "$$matchesHexBytes": "0" }), bytes(&[0])));
    assert!(fits(bson!({ "$$matchesHexBytes": "" }), bytes(&[])));
    assert!(fits(bson!({ "$$lte": 5 }), bson!(5.0)));
    assert!(!fits(bson!({ "$$lte": 5 }), bson!(6_i64)));
    assert!(!fits(bson!({ "$$lte": 5 }), bson!("5")));
}

#[test]
fn text_can_be_matched_as_a_document() {
    let expected = bson!({ "$$matchAsDocument": { "a": 1 } });
    assert!(fits(expected.clone(), bson!("{\"a\": 1}")));
    assert!(!fits(expected.clone(), bson!("{\"a\": 1, \"b\": 2}")));
    assert!(!fits(expected.clone(), bson!("not json")));
    assert!(!fits(expected, bson!({ "a": 1 })));
    let root = bson!({ "$$matchAsDocument": { "$$matchAsRoot": { "a": 1 } } });
    assert!(fits(root.clone(), bson!("{\"a\": 1, \"b\": 2}")));
    assert!(!fits(root, bson!("{\"b\": 2}")));
    assert!(!fits(bson!({ "$$matchAsRoot": { "a": 1 } }), bson!("{\"a\": 1}")));
}

#[test]
fn wrong_operators_are_errors() {
    for expected in [
        bson!({ "$$placeholder": 1 }),
        bson!({ "$$hexBytes": "00" }),
        bson!({ "$$unknown": 1 }),
        bson!({ "$$exists": true, "a": 1 }),
    ] {
        assert!(!fits_as_root(expected, bson!({ "a": 1 })));
    }
}

#[test]
fn messages_name_the_place() {
    let message = fault(bson!({ "a": [{ "b": 1 }] }), bson!({ "a": [{ "b": 2 }] }));
    assert!(
        message.starts_with("$.a[0].b: expected 1 (int), found 2 (int)"),
        "{message}"
    );
    let message = fault(bson!({ "a": { "b": 1 } }), bson!({ "a": { "b": 1, "c": 1 } }));
    assert!(message.starts_with("$.a: unexpected key \"c\""), "{message}");
}
