//! Prose tests of the BSON specifications: binary UUID, binary vector, corpus, ObjectId.

use marula_driver::bson::{
    Binary, BinarySubtype, Bson, Document, DocumentWriter, ObjectId, PackedBits, Regex, Uuid,
    UuidRepresentation, Vector, VectorError, append_document, doc,
};

const TEXT: &str = "00112233-4455-6677-8899-aabbccddeeff";
const STANDARD: &str = "00112233445566778899AABBCCDDEEFF";
const JAVA: &str = "7766554433221100FFEEDDCCBBAA9988";
const CSHARP: &str = "33221100554477668899AABBCCDDEEFF";
const REPRESENTATIONS: [UuidRepresentation; 4] = [
    UuidRepresentation::Standard,
    UuidRepresentation::JavaLegacy,
    UuidRepresentation::CSharpLegacy,
    UuidRepresentation::PythonLegacy,
];

fn uuid() -> Uuid {
    Uuid::parse_str(TEXT).expect("well-formed")
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("well-formed"))
        .collect()
}

fn binary(subtype: BinarySubtype, hex: &str) -> Binary {
    Binary {
        subtype,
        bytes: bytes(hex),
    }
}

#[test]
fn bson_binary_uuid_prose_explicit_encode_1() {
    assert_eq!(Binary::from_uuid(uuid()), binary(BinarySubtype::Uuid, STANDARD));
}

#[test]
fn bson_binary_uuid_prose_explicit_encode_2() {
    let made = Binary::from_uuid_with_representation(uuid(), UuidRepresentation::Standard);
    assert_eq!(made, binary(BinarySubtype::Uuid, STANDARD));
}

#[test]
fn bson_binary_uuid_prose_explicit_encode_3() {
    let made = Binary::from_uuid_with_representation(uuid(), UuidRepresentation::JavaLegacy);
    assert_eq!(made, binary(BinarySubtype::UuidOld, JAVA));
}

#[test]
fn bson_binary_uuid_prose_explicit_encode_4() {
    let made = Binary::from_uuid_with_representation(uuid(), UuidRepresentation::CSharpLegacy);
    assert_eq!(made, binary(BinarySubtype::UuidOld, CSHARP));
}

#[test]
fn bson_binary_uuid_prose_explicit_encode_5() {
    let made = Binary::from_uuid_with_representation(uuid(), UuidRepresentation::PythonLegacy);
    assert_eq!(made, binary(BinarySubtype::UuidOld, STANDARD));
}

/// `Unspecified` does not exist in the type, which has only the four other representations.
#[test]
fn bson_binary_uuid_prose_explicit_encode_6() {
    for representation in REPRESENTATIONS {
        let made = Binary::from_uuid_with_representation(uuid(), representation);
        assert_eq!(made.to_uuid_with_representation(representation).unwrap(), uuid());
    }
}

#[test]
fn bson_binary_uuid_prose_explicit_decode_1() {
    let stored = binary(BinarySubtype::Uuid, STANDARD);
    assert_eq!(stored.to_uuid().unwrap(), uuid());
    for representation in REPRESENTATIONS {
        let read = stored.to_uuid_with_representation(representation);
        match representation {
            UuidRepresentation::Standard => assert_eq!(read.unwrap(), uuid()),
            _ => assert!(read.is_err(), "{representation:?}"),
        }
    }
}

fn decodes_as_legacy(hex: &str, representation: UuidRepresentation) {
    let stored = binary(BinarySubtype::UuidOld, hex);
    assert_eq!(
        stored
            .to_uuid_with_representation(representation)
            .expect("well-formed"),
        uuid()
    );
    assert!(stored.to_uuid().is_err());
    assert!(
        stored
            .to_uuid_with_representation(UuidRepresentation::Standard)
            .is_err()
    );
}

#[test]
fn bson_binary_uuid_prose_explicit_decode_2() {
    decodes_as_legacy(JAVA, UuidRepresentation::JavaLegacy);
}

#[test]
fn bson_binary_uuid_prose_explicit_decode_3() {
    decodes_as_legacy(CSHARP, UuidRepresentation::CSharpLegacy);
}

#[test]
fn bson_binary_uuid_prose_explicit_decode_4() {
    decodes_as_legacy(STANDARD, UuidRepresentation::PythonLegacy);
}

#[test]
fn bson_binary_vector_prose_1() {
    assert_eq!(
        PackedBits::new(vec![0b1111_1111], 7),
        Err(VectorError::UnusedBits)
    );
}

fn vector_of(hex: &str) -> Binary {
    binary(BinarySubtype::Vector, hex)
}

#[test]
fn bson_binary_vector_prose_2() {
    assert_eq!(
        Vector::try_from(&vector_of("1007FF")),
        Err(VectorError::UnusedBits)
    );
}

#[test]
fn bson_binary_vector_prose_3() {
    let vector = Vector::PackedBit(PackedBits::new(vec![0b1000_0000], 7).unwrap());
    let (b1, b2, b3) = (vector_of("100780"), vector_of("1007FF"), Binary::from(&vector));
    assert_ne!(b1, b2);
    assert_eq!(b1, b3);
    // The second is not a valid vector, because unused bits are set; the others are equal.
    assert!(Vector::try_from(&b2).is_err());
    assert_eq!(Vector::try_from(&b1).unwrap(), Vector::try_from(&b3).unwrap());
}

fn is_rejected(document: &Document) -> bool {
    let mut out = vec![7];
    let refused = append_document(document, &mut out).is_err();
    assert_eq!(
        out == [7],
        refused,
        "a rejected document leaves the buffer unchanged"
    );
    refused
}

#[test]
fn bson_corpus_prose_1() {
    assert!(is_rejected(&doc! { "a\0b": 1 }));
    assert!(is_rejected(&doc! { "root": { "a\0b": 1 } }));
    // Either the value cannot be constructed, or it cannot be encoded.
    for (pattern, options) in [("a\0b", ""), ("a", "i\0m")] {
        let made = || {
            Some(Regex {
                pattern: pattern.try_into().ok()?,
                options: options.try_into().ok()?,
            })
        };
        assert!(made().is_none_or(|regex| is_rejected(&doc! { "a": regex })));
        let mut out = Vec::new();
        let mut writer = DocumentWriter::new(&mut out);
        let start = writer.begin();
        writer.regex("a", pattern, options);
        writer.end(start);
        assert!(writer.finish().is_err(), "{pattern:?} {options:?}");
    }
    for key in ["a\0b", "\0"] {
        let mut out = Vec::new();
        let mut writer = DocumentWriter::new(&mut out);
        let start = writer.begin();
        writer.i32(key, 1);
        writer.end(start);
        assert!(writer.finish().is_err(), "{key:?}");
    }
    assert!(!is_rejected(
        &doc! { "a": "a\0b", "b": Bson::Symbol("a\0b".to_owned()) }
    ));
}

#[test]
fn bson_objectid_prose_1() {
    for (time, seconds) in [
        ("00000000", 0_i64),
        ("7FFFFFFF", 2_147_483_647),
        ("80000000", 2_147_483_648),
        ("FFFFFFFF", 4_294_967_295),
    ] {
        let id = ObjectId::parse_str(format!("{time}0000000000000000")).unwrap();
        assert_eq!(id.timestamp().timestamp_millis(), seconds * 1000, "{time}");
    }
}
