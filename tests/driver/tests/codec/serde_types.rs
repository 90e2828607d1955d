//! Serde features through the codec: attributes, maps, borrowing, numbers, raw types.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use marula_driver::bson::{
    Bson, DateTime, DecodeError, Document, DocumentWriter, ObjectId, RawArrayBuf, RawBson, RawBsonRef,
    RawDocument, RawDocumentBuf, append_element, doc, from_bson, from_document, from_raw_bson, from_slice,
    from_slice_owned, rawdoc, to_bson, to_document, to_raw_document, to_vec,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const ID: Uuid = Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);

/// Checks that a value is encoded as `stored` and decoded as itself.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "shorter calls")]
fn both_ways<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, stored: Document) {
    assert_eq!(&from_document::<T>(&stored).unwrap(), value);
    assert_eq!(to_document(value).unwrap(), stored);
    assert_eq!(&from_slice::<T>(&to_vec(value).unwrap()).unwrap(), value);
}

#[track_caller]
fn fails<T: DeserializeOwned + Debug>(document: &Document) -> DecodeError {
    from_document::<T>(document).unwrap_err()
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Wrapper<T> {
    v: T,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Borrowed<'a> {
    text: &'a str,
    #[serde(with = "serde_bytes")]
    bytes: &'a [u8],
    #[serde(borrow)]
    cow: Cow<'a, str>,
    #[serde(borrow)]
    document: &'a RawDocument,
    #[serde(borrow)]
    any: RawBsonRef<'a>,
}

#[test]
fn types_can_borrow_from_the_input() {
    let document = rawdoc! { "x": 1 };
    let value = Borrowed {
        text: "téxt",
        bytes: &[1, 2, 3],
        cow: "cow".into(),
        document: &document,
        any: RawBsonRef::String("any"),
    };
    let bytes = to_vec(&value).unwrap();
    let read: Borrowed<'_> = from_slice(&bytes).unwrap();
    assert_eq!(read, value);
    assert!(matches!(read.cow, Cow::Borrowed(_)));
    let range = bytes.as_ptr_range();
    assert!(range.contains(&read.text.as_ptr()) && range.contains(&read.bytes.as_ptr()));
    assert!(range.contains(&read.document.as_bytes().as_ptr()));
}

#[derive(Serialize, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Color {
    Red,
    #[serde(rename = "dark-blue")]
    Blue,
}

#[test]
fn map_keys_are_strings_and_are_read_back() {
    both_ways(&BTreeMap::from([(-5_i8, 1)]), doc! { "-5": 1 });
    both_ways(
        &BTreeMap::from([(u64::MAX, 1)]),
        doc! { "18446744073709551615": 1 },
    );
    both_ways(
        &BTreeMap::from([(i128::MIN, 1)]),
        doc! { i128::MIN.to_string(): 1 },
    );
    both_ways(
        &BTreeMap::from([(true, 1), (false, 2)]),
        doc! { "false": 2, "true": 1 },
    );
    both_ways(&BTreeMap::from([('é', 1)]), doc! { "é": 1 });
    both_ways(
        &BTreeMap::from([(Color::Red, 1), (Color::Blue, 2)]),
        doc! { "Red": 1, "dark-blue": 2 },
    );
    let id = ObjectId::from_bytes([0xab; 12]);
    both_ways(&BTreeMap::from([(id, 1)]), doc! { id.to_hex(): 1 });

    let error = to_vec(&BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert!(
        error
            .message()
            .contains("a map key must be a string, found a tuple"),
        "{error}"
    );
    let error = fails::<BTreeMap<u8, i32>>(&doc! { "300": 1 });
    assert_eq!(error.path(), "300");
}

#[test]
fn each_integer_type_is_written_with_one_width() {
    let stored = doc! { "v": [1, 1, 1, 1, 1] };
    assert_eq!(
        to_document(&Wrapper {
            v: (1_i8, 1_i16, 1_i32, 1_u8, 1_u16)
        })
        .unwrap(),
        stored
    );
    let one = Bson::Int64(1);
    for wide in [
        to_bson(&1_u32),
        to_bson(&1_i64),
        to_bson(&1_u64),
        to_bson(&1_usize),
        to_bson(&1_i128),
        to_bson(&1_u128),
    ] {
        assert_eq!(wide.unwrap(), one);
    }
    for error in [to_bson(&u64::MAX), to_bson(&u128::MAX), to_bson(&i128::MIN)] {
        assert!(
            error
                .unwrap_err()
                .message()
                .contains("outside the range of an Int64")
        );
    }
    let error = to_vec(&Wrapper { v: vec![1, u64::MAX] }).unwrap_err();
    assert_eq!(error.path(), "v[1]");
}

#[test]
fn integers_of_every_width_are_read_if_the_value_fits() {
    for stored in [Bson::Int32(7), Bson::Int64(7), Bson::Double(7.0)] {
        assert_eq!(from_bson::<i8>(&stored).unwrap(), 7);
        assert_eq!(from_bson::<u64>(&stored).unwrap(), 7);
        assert_eq!(from_bson::<i128>(&stored).unwrap(), 7);
        assert_eq!(from_bson::<f32>(&stored).unwrap(), 7.0);
        assert_eq!(from_bson::<f64>(&stored).unwrap(), 7.0);
    }
    for (stored, found) in [
        (Bson::Int32(300), "out of its range"),
        (Bson::Int64(-1), "out of its range"),
        (Bson::Double(1.5), "with a fraction"),
        (Bson::Double(f64::NAN), "with a fraction"),
        (Bson::String("7".into()), "found String"),
        (Bson::Boolean(true), "found Boolean"),
    ] {
        let error = from_bson::<u8>(&stored).unwrap_err();
        assert!(error.to_string().contains(found), "{error}");
    }
    assert!(from_bson::<i64>(&Bson::Double(9_223_372_036_854_775_808.0)).is_err());
    assert_eq!(
        from_bson::<i64>(&Bson::Double(-9_223_372_036_854_775_808.0)).unwrap(),
        i64::MIN
    );
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
struct Attributes {
    renamed_field: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
    #[serde(skip)]
    skipped: i32,
    #[serde(alias = "oldName")]
    new_name: String,
    unit: (),
    tuple: (i32, String),
    nested: Vec<Vec<i32>>,
    result: Option<Result<i32, String>>,
}

#[test]
fn attributes_and_std_types_round_trip() {
    let value = Attributes {
        renamed_field: 1,
        new_name: "n\0m".into(),
        nested: vec![vec![], vec![1, 2]],
        result: Some(Err("e".into())),
        ..Attributes::default()
    };
    let stored = doc! {
        "renamedField": 1, "newName": "n\0m", "unit": null, "tuple": [0, ""],
        "nested": [[], [1, 2]], "result": { "Err": "e" },
    };
    both_ways(&value, stored);
    let old = doc! { "oldName": "x", "unknown": { "deep": [1] } };
    assert_eq!(from_document::<Attributes>(&old).unwrap().new_name, "x");
    both_ways(
        &Wrapper {
            v: std::time::Duration::new(3, 5),
        },
        doc! { "v": { "secs": 3_i64, "nanos": 5_i64 } },
    );
    let address: std::net::IpAddr = [127, 0, 0, 1].into();
    assert_eq!(
        from_document::<Wrapper<std::net::IpAddr>>(&to_document(&Wrapper { v: address }).unwrap())
            .unwrap()
            .v,
        address
    );
}

#[test]
fn raw_types_are_copied() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Raw {
        document: RawDocumentBuf,
        array: RawArrayBuf,
        any: RawBson,
        list: Vec<RawDocumentBuf>,
    }
    let mut array = RawArrayBuf::new();
    array.push("x");
    array.push(rawdoc! { "deep": true });
    let value = Raw {
        document: rawdoc! { "a": [1, { "b": 2 }], "at": DateTime::from_millis(3) },
        array,
        any: RawBson::DateTime(DateTime::from_millis(9)),
        list: vec![rawdoc! {}, rawdoc! { "x": 1 }],
    };
    let bytes = to_vec(&value).unwrap();
    assert_eq!(from_slice::<Raw>(&bytes).unwrap(), value);
    assert_eq!(
        from_slice_owned::<RawDocumentBuf>(&bytes).unwrap().as_bytes(),
        bytes
    );
    assert_eq!(to_raw_document(&value.document).unwrap(), value.document);
    let raw = to_raw_document(&value).unwrap();
    let any = raw.get("document").unwrap().unwrap();
    assert_eq!(
        from_raw_bson::<Document>(any)
            .unwrap()
            .get_array("a")
            .unwrap()
            .len(),
        2
    );
    assert_eq!(from_raw_bson::<String>(RawBsonRef::String("s")).unwrap(), "s");
    assert_eq!(from_raw_bson::<u8>(RawBsonRef::Int64(8)).unwrap(), 8);
    assert_eq!(
        from_raw_bson::<DateTime>(RawBsonRef::DateTime(DateTime::MAX)).unwrap(),
        DateTime::MAX
    );
}

#[test]
fn human_readable_wrappers_are_respected() {
    use bson::serde_helpers::HumanReadable;
    let value = Wrapper { v: HumanReadable(ID) };
    let stored = to_document(&value).unwrap();
    assert_eq!(stored, doc! { "v": ID.to_string() });
    assert_eq!(
        from_document::<Wrapper<HumanReadable<Uuid>>>(&stored).unwrap(),
        value
    );
    let lossy = [14, 0, 0, 0, 2, b'v', 0, 2, 0, 0, 0, 0xff, 0, 0];
    assert!(from_slice::<Wrapper<String>>(&lossy).is_err());
    let read: Wrapper<bson::Utf8Lossy<String>> = from_slice(&lossy).unwrap();
    assert_eq!(read.v.0, "\u{fffd}");
}

#[test]
fn documents_with_dollar_keys_are_read_as_documents() {
    let document = doc! { "when": { "$date": "not a date" }, "id": { "$oid": 1 } };
    let bytes = document.to_vec().unwrap();
    assert_eq!(from_slice_owned::<Document>(&bytes).unwrap(), document);
    assert_eq!(to_document(&document).unwrap(), document);
    assert_eq!(to_bson(&document).unwrap(), Bson::Document(document));
}

#[test]
fn keys_of_every_length_are_written() {
    let mut by_hand = Vec::new();
    for len in 0..150 {
        let key: String = ('a'..='z').cycle().take(len).collect();
        let mut expected = vec![0x10];
        expected.extend_from_slice(key.as_bytes());
        expected.extend_from_slice(&[0, 7, 0, 0, 0]);
        let mut out = Vec::new();
        append_element(&key, &7, &mut out).unwrap();
        assert_eq!(out, expected, "{len}");
        by_hand.extend_from_slice(&expected);
        let map = to_vec(&BTreeMap::from([(key.as_str(), 7)])).unwrap();
        assert_eq!(map[4..map.len() - 1], expected);
    }
    let mut written = Vec::new();
    let mut writer = DocumentWriter::new(&mut written);
    for len in 0..150 {
        let key: String = ('a'..='z').cycle().take(len).collect();
        writer.i32(&key, 7);
    }
    writer.finish().unwrap();
    assert_eq!(written, by_hand);

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Long {
        #[serde(rename = "sixty_two_bytes_are_the_longest_key_that_goes_out_in_one_piece")]
        a: String,
        #[serde(rename = "sixty_three_bytes_are_more_than_what_goes_out_in_just_one_piece")]
        b: Vec<i64>,
    }
    let long = Long {
        a: "a".into(),
        b: vec![1, 2],
    };
    both_ways(
        &long,
        doc! {
            "sixty_two_bytes_are_the_longest_key_that_goes_out_in_one_piece": "a",
            "sixty_three_bytes_are_more_than_what_goes_out_in_just_one_piece": [1_i64, 2_i64],
        },
    );
}

#[test]
fn elements_of_arrays_have_increasing_indexes() {
    for len in [0, 1, 9, 10, 11, 99, 100, 101, 1_005] {
        let values: Vec<Wrapper<i32>> = (0..len).map(|v| Wrapper { v }).collect();
        let nested = Wrapper {
            v: vec![values, vec![Wrapper { v: -1 }]],
        };
        let bytes = to_vec(&nested).unwrap();
        assert_eq!(bytes, ::bson::serialize_to_vec(&nested).unwrap());
        assert_eq!(
            from_slice::<Wrapper<Vec<Vec<Wrapper<i32>>>>>(&bytes).unwrap(),
            nested
        );
    }
}

/// A struct that serializes under the name of ObjectId.
#[derive(Serialize)]
#[serde(rename = "$oid")]
struct Imitation<'a> {
    #[serde(rename = "$oid")]
    text: &'a str,
}

#[test]
fn a_type_named_object_id_must_have_its_form() {
    let id = ObjectId::from_bytes(*b"\x00\x19\xa0\xaf\xf0\xff\x9a\xa9\x7f\x80\x0f\xf9");
    let lower = id.to_hex();
    for text in [&lower, &lower.to_uppercase()] {
        assert_eq!(to_bson(&Imitation { text }).unwrap(), Bson::ObjectId(id));
    }
    for text in [
        "",
        "0019a0aff0ff9aa97f800ff",
        "0019a0aff0ff9aa97f800ffg",
        "0019a0aff0ff9aa97f800ff90",
    ] {
        let error = to_bson(&Imitation { text }).unwrap_err();
        assert!(error.message().contains("does not have the form"), "{error}");
    }
    #[derive(Serialize)]
    #[serde(rename = "$oid")]
    struct Empty {}
    assert!(to_bson(&Empty {}).is_err());
}
