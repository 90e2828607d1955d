//! Property tests of the codec with crate bson as the oracle: arbitrary documents, typed values and
//! corrupted bytes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;

use marula_driver::bson::spec::BinarySubtype;
use marula_driver::bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, ObjectId, RawDocument,
    RawDocumentBuf, RawElements, Regex, Timestamp, append, append_document, decode_document, from_document,
    from_slice, from_slice_owned, to_bson, to_document, to_vec,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde::{Deserialize, Serialize};

/// Keys without zero bytes. Keys of Extended JSON are excluded, because the `Document` deserializer
/// of crate bson turns such documents into other types.
fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_$.éß🦀]{0,8}", "[0-9]{1,3}"]
        .prop_filter("Extended JSON", |key| !key.starts_with('$'))
}

fn cstring() -> impl Strategy<Value = String> {
    "[a-z\\\\^.*é]{0,10}"
}

fn subtype() -> impl Strategy<Value = BinarySubtype> {
    any::<u8>().prop_map(BinarySubtype::from)
}

fn scalar() -> impl Strategy<Value = Bson> {
    prop_oneof![
        any::<f64>()
            .prop_filter("NaN is unequal", |x| !x.is_nan())
            .prop_map(Bson::Double),
        any::<String>().prop_map(Bson::String),
        any::<bool>().prop_map(Bson::Boolean),
        Just(Bson::Null),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<[u8; 12]>().prop_map(|id| Bson::ObjectId(ObjectId::from_bytes(id))),
        any::<i64>().prop_map(|millis| Bson::DateTime(DateTime::from_millis(millis))),
        (any::<u32>(), any::<u32>())
            .prop_map(|(time, increment)| Bson::Timestamp(Timestamp { time, increment })),
        (subtype(), vec(any::<u8>(), 0..40))
            .prop_map(|(subtype, bytes)| Bson::Binary(Binary { subtype, bytes })),
        (subtype(), any::<[u8; 16]>()).prop_map(|(subtype, bytes)| Bson::Binary(Binary {
            subtype,
            bytes: bytes.to_vec()
        })),
        (cstring(), "i?l?m?s?u?x?").prop_map(|(pattern, options)| {
            Bson::RegularExpression(Regex {
                pattern: pattern.try_into().unwrap(),
                options: options.try_into().unwrap(),
            })
        }),
        any::<[u8; 16]>().prop_map(|bytes| Bson::Decimal128(Decimal128::from_bytes(bytes))),
        any::<String>().prop_map(Bson::JavaScriptCode),
        any::<String>().prop_map(Bson::Symbol),
        Just(Bson::Undefined),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
        (any::<String>(), any::<[u8; 12]>()).prop_map(|(namespace, id)| db_pointer(&namespace, id)),
    ]
}

/// Crate bson has no constructor for it.
fn db_pointer(namespace: &str, id: [u8; 12]) -> Bson {
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(b"\x0cp\0");
    bytes.extend_from_slice(&i32::try_from(namespace.len() + 1).unwrap().to_le_bytes());
    bytes.extend_from_slice(namespace.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&id);
    bytes.push(0);
    let len = i32::try_from(bytes.len()).unwrap().to_le_bytes();
    bytes[..4].copy_from_slice(&len);
    Document::from_reader(bytes.as_slice())
        .unwrap()
        .remove("p")
        .unwrap()
}

fn fields(value: impl Strategy<Value = Bson>) -> impl Strategy<Value = Document> {
    vec((key(), value), 0..6).prop_map(|fields| fields.into_iter().collect())
}

fn value() -> impl Strategy<Value = Bson> {
    scalar().prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Bson::Array),
            fields(inner.clone()).prop_map(Bson::Document),
            (any::<String>(), fields(inner)).prop_map(|(code, scope)| {
                Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope })
            }),
        ]
    })
}

fn document() -> impl Strategy<Value = Document> {
    fields(value())
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone, Copy)]
struct Unit;

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Newtype(i64);

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
enum Kind {
    Plain,
    Wrapped(String),
    Pair(i32, bool),
    Fields { a: u32, b: Option<f32> },
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Inner {
    name: String,
    kinds: Vec<Kind>,
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Typed {
    small: (i8, i16, u8, u16),
    wide: (i32, i64, u32),
    float: (f32, f64),
    flag: bool,
    letter: char,
    text: String,
    maybe: Option<Box<Inner>>,
    unit: Unit,
    newtype: Newtype,
    list: Vec<Inner>,
    map: BTreeMap<String, Kind>,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    id: ObjectId,
    time: DateTime,
    binary: Binary,
    any: Bson,
    tree: Document,
    #[serde(flatten)]
    flat: BTreeMap<String, i32>,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Plain),
        any::<String>().prop_map(Kind::Wrapped),
        any::<(i32, bool)>().prop_map(|(a, b)| Kind::Pair(a, b)),
        (any::<u32>(), proptest::option::of(-1.0e9_f32..1.0e9)).prop_map(|(a, b)| Kind::Fields { a, b }),
    ]
}

fn inner() -> impl Strategy<Value = Inner> {
    (any::<String>(), vec(kind(), 0..4)).prop_map(|(name, kinds)| Inner { name, kinds })
}

fn typed() -> impl Strategy<Value = Typed> {
    let numbers = (
        any::<(i8, i16, u8, u16)>(),
        any::<(i32, i64, u32)>(),
        -1.0e9_f32..1.0e9,
    );
    let plain = (
        any::<f64>(),
        any::<bool>(),
        any::<char>(),
        any::<String>(),
        any::<i64>(),
    );
    let nested = (
        proptest::option::of(inner().prop_map(Box::new)),
        vec(inner(), 0..3),
        proptest::collection::btree_map("[a-z]{1,4}", kind(), 0..4),
        proptest::collection::btree_map("flat_[a-z]{1,4}", any::<i32>(), 0..4),
    );
    let bson = (
        vec(any::<u8>(), 0..20),
        any::<[u8; 12]>(),
        any::<i64>(),
        (subtype(), vec(any::<u8>(), 0..20)),
        value(),
        document(),
    );
    (numbers, plain, nested, bson).prop_map(
        |((small, wide, f), (d, flag, letter, text, n), (maybe, list, map, flat), bson)| {
            let (bytes, id, millis, (subtype, data), any, tree) = bson;
            Typed {
                small,
                wide,
                float: (f, if d.is_nan() { 0.0 } else { d }),
                flag,
                letter,
                text,
                maybe,
                unit: Unit,
                newtype: Newtype(n),
                list,
                map,
                bytes,
                id: ObjectId::from_bytes(id),
                time: DateTime::from_millis(millis),
                binary: Binary { subtype, bytes: data },
                any,
                tree,
                flat,
            }
        },
    )
}

/// Reads every value of a document with the raw reader. Only a panic fails the test.
fn walk(bytes: &[u8], depth: usize) {
    let Ok(elements) = RawElements::new(bytes) else {
        return;
    };
    for element in elements {
        let Ok(element) = element else { return };
        let _ = (
            element.i32(),
            element.i64(),
            element.f64(),
            element.bool(),
            element.str(),
        );
        let _ = (
            element.binary(),
            element.regex(),
            element.object_id(),
            element.timestamp(),
        );
        let _ = (element.int(), element.document(), element.value.is_truthy());
        if depth > 0 && (element.elements().is_ok() || element.array().is_ok()) {
            walk(element.value.bytes(), depth - 1);
        }
    }
}

/// Gives bytes to every reader. The readers of the driver and of crate bson must agree on
/// acceptance and result.
///
/// The only intended difference is the nesting limit, which crate bson does not have. `errors.rs`
/// tests it.
fn compare_readers(bytes: &[u8]) {
    walk(bytes, 8);
    let ours = decode_document(bytes);
    let _ = from_slice::<Typed>(bytes);
    let _ = from_slice::<BTreeMap<String, serde::de::IgnoredAny>>(bytes);
    let _ = from_slice::<&RawDocument>(bytes);
    let serde = from_slice::<Document>(bytes);
    // The reader of crate bson without serde is the oracle.
    let theirs = RawDocument::from_bytes(bytes)
        .map_err(|error| error.to_string())
        .and_then(|raw| Document::try_from(raw).map_err(|error| error.to_string()));
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => {
            // Compared as bytes, because NaN is not equal to itself.
            assert_eq!(theirs.to_vec().unwrap(), to_vec_of_tree(&ours));
            if let Ok(serde) = serde {
                assert_eq!(to_vec_of_tree(&serde), to_vec_of_tree(&ours));
            }
        }
        (Ok(theirs), Err(error)) => panic!("only crate bson accepts {theirs:?}: {error}"),
        (Err(theirs), Ok(ours)) => panic!("only the driver accepts {ours:?}: {theirs}"),
        (Err(_), Err(_)) => {}
    }
}

fn to_vec_of_tree(document: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_document(document, &mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, rng_seed: RngSeed::Fixed(20_260_101), ..ProptestConfig::default() })]

    #[test]
    fn documents_encode_like_crate_bson(document in document()) {
        let theirs = document.to_vec().unwrap();
        prop_assert_eq!(&to_vec(&document).unwrap(), &theirs);
        prop_assert_eq!(&to_vec_of_tree(&document), &theirs);
        let raw = RawDocumentBuf::from_bytes(theirs.clone()).unwrap();
        prop_assert_eq!(&to_vec(&raw).unwrap(), &theirs);
    }

    #[test]
    fn documents_decode_like_crate_bson(document in document()) {
        let bytes = document.to_vec().unwrap();
        prop_assert_eq!(&from_slice::<Document>(&bytes).unwrap(), &document);
        prop_assert_eq!(&decode_document(&bytes).unwrap(), &document);
        prop_assert_eq!(&from_slice_owned::<Document>(&bytes).unwrap(), &document);
        prop_assert_eq!(&from_document::<Document>(&document).unwrap(), &document);
        prop_assert_eq!(to_bson(&document).unwrap(), Bson::Document(document));
        prop_assert_eq!(from_slice::<&RawDocument>(&bytes).unwrap().as_bytes(), bytes.as_slice());
    }

    #[test]
    fn typed_values_agree_with_crate_bson(typed in typed()) {
        let bytes = to_vec(&typed).unwrap();
        prop_assert_eq!(&bytes, &bson::serialize_to_vec(&typed).unwrap());
        prop_assert_eq!(&from_slice::<Typed>(&bytes).unwrap(), &typed);
        prop_assert_eq!(&bson::deserialize_from_slice::<Typed>(&bytes).unwrap(), &typed);
        let tree = to_document(&typed).unwrap();
        prop_assert_eq!(&tree.to_vec().unwrap(), &bytes);
        prop_assert_eq!(&from_document::<Typed>(&tree).unwrap(), &typed);
    }

    #[test]
    fn appending_does_not_change_preceding_bytes(documents in vec(document(), 1..4)) {
        let mut out = b"before".to_vec();
        for document in &documents {
            append(document, &mut out).unwrap();
        }
        let mut rest = out.strip_prefix(b"before").unwrap();
        for document in &documents {
            let len = usize::try_from(i32::from_le_bytes(rest[..4].try_into().unwrap())).unwrap();
            let (one, others) = rest.split_at(len);
            prop_assert_eq!(&from_slice::<Document>(one).unwrap(), document);
            rest = others;
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn arbitrary_bytes_never_panic(body in vec(any::<u8>(), 0..200)) {
        let mut bytes = i32::try_from(body.len() + 5).unwrap().to_le_bytes().to_vec();
        bytes.extend_from_slice(&body);
        bytes.push(0);
        compare_readers(&bytes);
        compare_readers(&body);
    }

    #[test]
    fn corrupted_documents_never_panic(
        document in document(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = document.to_vec().unwrap();
        for (at, byte) in &damage {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        compare_readers(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        compare_readers(&bytes);
    }

    #[test]
    fn corrupted_typed_documents_never_panic(
        typed in typed(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = to_vec(&typed).unwrap();
        for (at, byte) in &damage {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        compare_readers(&bytes);
    }
}
