//! UUIDs in Binary subtypes 3 and 4: the explicit conversions of the test plan of the UUID
//! specification.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use marula_driver::bson::spec::BinarySubtype;
use marula_driver::bson::{Binary, Uuid, UuidRepresentation};

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

/// Each representation with its subtype and its bytes for [`UUID`].
const REPRESENTATIONS: [(UuidRepresentation, BinarySubtype, u128); 4] = [
    (
        UuidRepresentation::Standard,
        BinarySubtype::Uuid,
        0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
    ),
    (
        UuidRepresentation::JavaLegacy,
        BinarySubtype::UuidOld,
        0x7766_5544_3322_1100_ffee_ddcc_bbaa_9988,
    ),
    (
        UuidRepresentation::CSharpLegacy,
        BinarySubtype::UuidOld,
        0x3322_1100_5544_7766_8899_aabb_ccdd_eeff,
    ),
    (
        UuidRepresentation::PythonLegacy,
        BinarySubtype::UuidOld,
        0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
    ),
];

fn uuid() -> Uuid {
    Uuid::parse_str(UUID).unwrap()
}

#[test]
fn uuids_are_encoded_in_each_representation() {
    assert_eq!(
        Binary::from(uuid()),
        Binary::from_uuid_with_representation(uuid(), UuidRepresentation::Standard)
    );
    for (representation, subtype, bytes) in REPRESENTATIONS {
        let binary = Binary::from_uuid_with_representation(uuid(), representation);
        assert_eq!(binary.subtype, subtype, "{representation:?}");
        assert_eq!(binary.bytes, bytes.to_be_bytes(), "{representation:?}");
    }
}

#[test]
fn uuids_are_decoded_only_from_their_representation() {
    for (representation, subtype, bytes) in REPRESENTATIONS {
        let binary = Binary {
            subtype,
            bytes: bytes.to_be_bytes().to_vec(),
        };
        assert_eq!(
            binary.to_uuid_with_representation(representation).unwrap(),
            uuid()
        );
        let standard = representation == UuidRepresentation::Standard;
        assert_eq!(binary.to_uuid().is_ok(), standard, "{representation:?}");
        for (other, other_subtype, _) in REPRESENTATIONS {
            // The three representations of subtype 3 cannot be distinguished from each other.
            let read = binary.to_uuid_with_representation(other);
            assert_eq!(
                read.is_ok(),
                subtype == other_subtype,
                "{representation:?} as {other:?}"
            );
        }
    }
}

#[test]
fn other_lengths_are_rejected() {
    for (representation, subtype, _) in REPRESENTATIONS {
        for len in [0, 15, 17] {
            let binary = Binary {
                subtype,
                bytes: vec![0; len],
            };
            assert!(
                binary.to_uuid_with_representation(representation).is_err(),
                "{len}"
            );
        }
    }
}
