//! The messages of decode errors: no stored values, and the texts of an application's own types.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;

use marula_driver::bson::{
    Binary, Bson, DateTime, Decimal128, Document, ObjectId, RawArrayBuf, RawBsonRef, RawDocumentBuf, doc,
    from_document, from_raw_bson,
};
use serde::Deserialize;

fn message<T: serde::de::DeserializeOwned + std::fmt::Debug>(document: &Document) -> String {
    from_document::<T>(document).unwrap_err().to_string()
}

#[test]
fn decode_errors_never_show_values() {
    const SECRET: &str = "hunter2hunter2hunter2";
    #[derive(Deserialize, Debug)]
    enum Choice {
        A,
        B,
    }
    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Strict {
        a: Option<char>,
    }
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Inner {
        v: Binary,
    }
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Flattened {
        #[serde(flatten)]
        inner: Inner,
    }
    let secret = || Bson::String(SECRET.into());
    let texts = [
        message::<BTreeMap<String, i32>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, Choice>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, Binary>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, ObjectId>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, DateTime>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, Decimal128>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, RawDocumentBuf>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, RawArrayBuf>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, Document>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, uuid::Uuid>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, std::net::IpAddr>>(&doc! { "v": secret() }),
        message::<Strict>(&doc! { "a": secret() }),
        message::<Strict>(&doc! { "b": secret() }),
        message::<BTreeMap<String, u8>>(&doc! { "v": 987_654 }),
        message::<BTreeMap<String, Document>>(&doc! { "v": ObjectId::from_bytes(*b"hunter2hunte") }),
        message::<BTreeMap<String, Document>>(&doc! { "v": { "a": 1, "$oid": "68756e746572326875e774e5" } }),
        message::<BTreeMap<String, Option<Box<Binary>>>>(&doc! { "v": secret() }),
        message::<BTreeMap<String, Vec<Binary>>>(&doc! { "v": [secret()] }),
        message::<Flattened>(&doc! { "v": secret() }),
        from_raw_bson::<Binary>(RawBsonRef::String(SECRET))
            .unwrap_err()
            .to_string(),
    ];
    for text in texts {
        assert!(!text.contains("hunter2") && !text.contains("987654"), "{text}");
        assert!(!text.contains("68756e746572"), "{text}");
    }
}

/// A type whose `TryFrom` fails with this message.
#[derive(Deserialize, Debug)]
#[serde(try_from = "String")]
struct Refusing;

impl TryFrom<String> for Refusing {
    type Error = String;

    fn try_from(_: String) -> Result<Self, String> {
        Err("not a code".to_owned())
    }
}

#[test]
fn messages_of_a_try_from_conversion_are_kept() {
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Mixed {
        any: Bson,
        code: Refusing,
    }
    let document = doc! { "any": { "deep": [1] }, "code": "x" };
    assert!(message::<Mixed>(&document).starts_with("code: not a code at byte"));
}

/// The texts of user types pass through serde's buffers; those of crate bson, which state the
/// value, do not.
#[test]
fn messages_are_kept_in_tagged_enums_and_flattened_structs() {
    #[derive(Deserialize, Debug)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "only deserialization is tested")]
    enum Contact {
        Mail { address: Refusing },
        Key { key: Binary },
        Signed { signature: Option<Box<Binary>> },
    }
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Flat<T> {
        #[serde(flatten)]
        inner: BTreeMap<String, T>,
    }
    #[derive(Deserialize, Debug)]
    #[serde(try_from = "Bson")]
    struct OfAny;

    impl TryFrom<Bson> for OfAny {
        type Error = String;

        fn try_from(_: Bson) -> Result<Self, String> {
            Err("not any".to_owned())
        }
    }

    let contact = doc! { "kind": "Mail", "address": "x" };
    assert_eq!(message::<Contact>(&contact), "not a code at byte 0");
    assert_eq!(
        message::<Flat<Refusing>>(&doc! { "a": "x" }),
        "not a code at byte 0"
    );
    let adjacent = message::<BTreeMap<String, OfAny>>(&doc! { "a": "x" });
    assert_eq!(adjacent, "a: not any at byte 7");
    let scalar = from_raw_bson::<Refusing>(RawBsonRef::String("x")).unwrap_err();
    assert_eq!(scalar.message(), "not a code");
    let scalar = from_raw_bson::<OfAny>(RawBsonRef::String("x")).unwrap_err();
    assert_eq!(scalar.message(), "not any");

    for (text, expected) in [
        (
            message::<Contact>(&doc! { "kind": "Key", "key": "hunter2" }),
            "expected a Binary at byte 0",
        ),
        (
            message::<Contact>(&doc! { "kind": "Signed", "signature": "hunter2" }),
            "expected a Binary at byte 0",
        ),
        (
            message::<Flat<Decimal128>>(&doc! { "a": "hunter2" }),
            "expected a Decimal128 at byte 0",
        ),
        (
            message::<Flat<RawDocumentBuf>>(&doc! { "a": "hunter2" }),
            "expected a document at byte 0",
        ),
        (
            message::<Flat<RawArrayBuf>>(&doc! { "a": "hunter2" }),
            "expected an array at byte 0",
        ),
        (
            message::<Flat<ObjectId>>(&doc! { "a": { "b": "hunter2" } }),
            "expected an ObjectId at byte 0",
        ),
        (
            message::<Flat<Document>>(&doc! { "a": Bson::Symbol("hunter2".into()) }),
            "expected a document that is not an Extended JSON value at byte 0",
        ),
        (
            message::<BTreeMap<String, Binary>>(&doc! { "a": "hunter2" }),
            "a: expected a Binary, found String at byte 7",
        ),
        (
            message::<BTreeMap<String, Vec<Binary>>>(&doc! { "a": ["hunter2"] }),
            "a[0]: expected a Binary, found String at byte 14",
        ),
        (
            message::<BTreeMap<String, Document>>(&doc! { "a": { "$symbol": "hunter2" } }),
            "a: expected a document that is not an Extended JSON value, found Document at byte 7",
        ),
    ] {
        assert_eq!(text, expected);
    }
}

/// An error that an application wraps states no value either.
#[test]
fn a_wrapped_error_of_crate_bson_states_no_value() {
    #[derive(Debug)]
    struct Wrapping;

    impl<'de> Deserialize<'de> for Wrapping {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let read = Binary::deserialize(deserializer);
            read.map(|_| Self)
                .map_err(|error| serde::de::Error::custom(format!("not a key: {error}")))
        }
    }

    let text = message::<BTreeMap<String, Wrapping>>(&doc! { "a": "hunter2" });
    assert_eq!(text, "a: not a key: expected a Binary at byte 7");
}
