//! Property tests of Extended JSON: written documents are read back, and no text or bytes cause a
//! panic.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use marula_driver::bson::spec::BinarySubtype;
use marula_driver::bson::{
    Binary, Bson, DateTime, Decimal128, Document, ExtendedJson, JavaScriptCodeWithScope, ObjectId,
    RawDocument, Regex, Timestamp, append_document, decode_document, from_extended_json,
    from_legacy_extended_json, to_canonical_json, to_relaxed_json, value_from_extended_json,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Decimals with a unique representation; others have equal values with different bytes.
fn decimal() -> impl Strategy<Value = Decimal128> {
    let digits = (any::<bool>(), 0_u128..10_u128.pow(34), -6176_i32..=6111);
    let finite = digits.prop_map(|(negative, digits, exponent)| {
        let sign = if negative { "-" } else { "" };
        format!("{sign}{digits}E{exponent}").parse().unwrap()
    });
    let named = prop_oneof![Just("NaN"), Just("Infinity"), Just("-Infinity")];
    prop_oneof![9 => finite, 1 => named.prop_map(|name| name.parse().unwrap())]
}

fn db_pointer(namespace: &str, id: [u8; 12]) -> Bson {
    let mut bytes = b"\0\0\0\0\x0cp\0".to_vec();
    bytes.extend_from_slice(&i32::try_from(namespace.len() + 1).unwrap().to_le_bytes());
    bytes.extend_from_slice(namespace.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&id);
    bytes.push(0);
    let len = i32::try_from(bytes.len()).unwrap().to_le_bytes();
    bytes[..4].copy_from_slice(&len);
    decode_document(&bytes).unwrap().remove("p").unwrap()
}

fn scalar() -> impl Strategy<Value = Bson> {
    let text = || any::<String>();
    prop_oneof![
        any::<u64>()
            .prop_map(f64::from_bits)
            .prop_filter("NaN is unequal", |x| !x.is_nan())
            .prop_map(Bson::Double),
        any::<i32>().prop_map(|x| Bson::Double(f64::from(x))),
        text().prop_map(Bson::String),
        "[\\x00-\\x20\"\\\\é🦀]{0,8}".prop_map(Bson::String),
        any::<bool>().prop_map(Bson::Boolean),
        Just(Bson::Null),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<i32>().prop_map(|x| Bson::Int64(x.into())),
        any::<[u8; 12]>().prop_map(|id| Bson::ObjectId(ObjectId::from_bytes(id))),
        any::<i64>().prop_map(|millis| Bson::DateTime(DateTime::from_millis(millis))),
        (-1_000_000..253_402_300_900_000_i64)
            .prop_map(|millis| Bson::DateTime(DateTime::from_millis(millis))),
        any::<(u32, u32)>().prop_map(|(time, increment)| Bson::Timestamp(Timestamp { time, increment })),
        (any::<u8>(), vec(any::<u8>(), 0..60)).prop_map(|(subtype, bytes)| Bson::Binary(Binary {
            subtype: subtype.into(),
            bytes
        })),
        any::<[u8; 16]>().prop_map(|bytes| Bson::Binary(Binary {
            subtype: BinarySubtype::Uuid,
            bytes: bytes.to_vec()
        })),
        ("[^\\x00]{0,10}", "i?l?m?s?u?x?").prop_map(|(pattern, options)| {
            Bson::RegularExpression(Regex {
                pattern: pattern.try_into().unwrap(),
                options: options.try_into().unwrap(),
            })
        }),
        decimal().prop_map(Bson::Decimal128),
        text().prop_map(Bson::JavaScriptCode),
        text().prop_map(Bson::Symbol),
        Just(Bson::Undefined),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
        (text(), any::<[u8; 12]>()).prop_map(|(namespace, id)| db_pointer(&namespace, id)),
    ]
}

/// Documents without the keys of type wrappers, which would be read as the wrapped type.
fn fields(value: impl Strategy<Value = Bson>) -> impl Strategy<Value = Document> {
    let key = prop_oneof![
        "[a-zA-Z_$.é🦀\"\\\\]{0,8}",
        Just("$ref".to_owned()),
        Just("$id".to_owned())
    ];
    vec((key, value), 0..6).prop_map(|fields| fields.into_iter().collect())
}

fn value() -> impl Strategy<Value = Bson> {
    scalar().prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Bson::Array),
            fields(inner.clone()).prop_map(Bson::Document),
            (any::<String>(), fields(inner)).prop_map(|(code, scope)| Bson::JavaScriptCodeWithScope(
                JavaScriptCodeWithScope { code, scope }
            )),
        ]
    })
}

fn bytes_of(document: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_document(document, &mut bytes).unwrap();
    bytes
}

/// The value after relaxed Extended JSON, which does not keep the width of integers.
fn narrowed(value: Bson) -> Bson {
    let fields = |document: Document| {
        document
            .into_iter()
            .map(|(key, value)| (key, narrowed(value)))
            .collect()
    };
    match value {
        Bson::Int64(wide) => i32::try_from(wide).map_or(Bson::Int64(wide), Bson::Int32),
        Bson::Array(values) => Bson::Array(values.into_iter().map(narrowed).collect()),
        Bson::Document(document) => Bson::Document(fields(document)),
        Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope }) => {
            let scope = fields(scope);
            Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope })
        }
        other => other,
    }
}

/// Reads a text in every way. Only a panic fails the test.
fn read(text: &str) {
    let _ = value_from_extended_json(text);
    let _ = from_legacy_extended_json(text);
    match from_extended_json(text) {
        Ok(document) => assert!(decode_document(&bytes_of(&document)).is_ok()),
        Err(error) => assert!(error.line() >= 1 && error.column() >= 1 && error.offset() <= text.len()),
    }
}

/// Writes bytes as text. It must succeed exactly for valid documents.
fn write(bytes: &[u8]) {
    let Ok(raw) = RawDocument::from_bytes(bytes) else {
        return;
    };
    let _ = ExtendedJson::relaxed(raw).to_string();
    match (to_canonical_json(raw), decode_document(bytes)) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
        (text, tree) => panic!("{text:?} but {tree:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_121), ..ProptestConfig::default() })]

    #[test]
    fn canonical_text_is_read_back(document in fields(value())) {
        let bytes = bytes_of(&document);
        let text = to_canonical_json(&document).unwrap();
        prop_assert_eq!(&to_canonical_json(RawDocument::from_bytes(&bytes).unwrap()).unwrap(), &text);
        prop_assert_eq!(bytes_of(&from_extended_json(&text).unwrap()), bytes);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn relaxed_text_is_read_back_except_for_the_width_of_integers(document in fields(value())) {
        let bytes = bytes_of(&document);
        let text = to_relaxed_json(&document).unwrap();
        prop_assert_eq!(&to_relaxed_json(RawDocument::from_bytes(&bytes).unwrap()).unwrap(), &text);
        let read = from_extended_json(&text).unwrap();
        prop_assert_eq!(&to_relaxed_json(&read).unwrap(), &text);
        let Bson::Document(narrow) = narrowed(Bson::Document(document.clone())) else { unreachable!() };
        prop_assert_eq!(bytes_of(&read), bytes_of(&narrow));
        let with_uuids = ExtendedJson::relaxed(&document).uuids_as_text().to_json().unwrap();
        prop_assert_eq!(bytes_of(&from_extended_json(&with_uuids).unwrap()), bytes_of(&narrow));
    }

    #[test]
    fn arbitrary_texts_never_panic(text in any::<String>(), json in "[\\[\\]{}:,\"a0-9.eE+\\\\u$ -]{0,60}") {
        read(&text);
        read(&json);
    }

    #[test]
    fn corrupted_texts_never_panic(
        document in fields(value()),
        damage in vec((any::<prop::sample::Index>(), "[\\[\\]{}:,\"a0.eE+\\\\u$é-]"), 1..4),
        relaxed in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = if relaxed { to_relaxed_json(&document) } else { to_canonical_json(&document) }.unwrap();
        let mut letters: Vec<char> = text.chars().collect();
        for (at, letter) in &damage {
            let at = at.index(letters.len());
            letters[at] = letter.chars().next().unwrap();
        }
        read(&letters.iter().collect::<String>());
        letters.truncate(cut.index(letters.len()));
        read(&letters.iter().collect::<String>());
    }

    #[test]
    fn corrupted_bytes_are_written_only_if_they_are_a_valid_document(
        document in fields(value()),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = bytes_of(&document);
        for (at, byte) in &damage {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        write(&bytes);
    }
}
