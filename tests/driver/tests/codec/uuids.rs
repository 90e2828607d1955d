//! UUIDs and binary data in every position that serde supports: fields, maps, enums, flattened
//! structs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use marula_driver::bson::{
    Binary, BinarySubtype, Bson, DateTime, Decimal128, DecodeError, Document, ObjectId, Regex, Timestamp,
    Uuid as BsonUuid, doc, from_document, from_slice, to_document, to_vec,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const ID: Uuid = Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
/// The type for values that serde buffers.
const BSON_ID: BsonUuid = BsonUuid::from_bytes(ID.into_bytes());

fn binary(subtype: BinarySubtype) -> Bson {
    Bson::Binary(Binary {
        subtype,
        bytes: ID.as_bytes().to_vec(),
    })
}

fn stored_id() -> Bson {
    binary(BinarySubtype::Uuid)
}

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
#[serde(transparent)]
struct Transparent {
    id: Uuid,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Newtype(Uuid);

#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum External {
    Unit,
    One(Uuid),
    Two(Uuid, i32),
    Fields { id: Uuid },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind")]
enum Internal {
    Unit,
    One(WrappedBinary<BsonUuid>),
    Fields { id: BsonUuid, n: i64 },
}

/// A UUID for types that serde buffers.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct WrappedBinary<T> {
    v: T,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind", content = "data")]
enum Adjacent {
    Unit,
    One(BsonUuid),
    Two(BsonUuid, i32),
    Fields { id: BsonUuid },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged {
    Text(String),
    Id(BsonUuid),
    Raw(Binary),
    Fields { id: BsonUuid },
}

#[test]
fn uuids_have_subtype_4_in_every_position() {
    both_ways(&Wrapper { v: ID }, doc! { "v": stored_id() });
    both_ways(&Wrapper { v: Some(ID) }, doc! { "v": stored_id() });
    both_ways(&Wrapper { v: None::<Uuid> }, doc! { "v": null });
    both_ways(
        &Wrapper { v: vec![ID, ID] },
        doc! { "v": [stored_id(), stored_id()] },
    );
    both_ways(&Wrapper { v: (ID, 1) }, doc! { "v": [stored_id(), 1] });
    both_ways(&Wrapper { v: Newtype(ID) }, doc! { "v": stored_id() });
    both_ways(
        &Wrapper {
            v: Transparent { id: ID },
        },
        doc! { "v": stored_id() },
    );
    both_ways(&Wrapper { v: Box::new(ID) }, doc! { "v": stored_id() });
    let map = BTreeMap::from([("a".to_owned(), ID)]);
    both_ways(&Wrapper { v: map.clone() }, doc! { "v": { "a": stored_id() } });
    both_ways(&map, doc! { "a": stored_id() });
    both_ways(&BTreeMap::from([(ID, 1)]), doc! { ID.to_string(): 1 });
    let driver_id = marula_driver::bson::Uuid::from_bytes(*ID.as_bytes());
    both_ways(&Wrapper { v: driver_id }, doc! { "v": stored_id() });
}

#[test]
fn uuids_work_in_all_four_enum_taggings() {
    both_ways(&Wrapper { v: External::Unit }, doc! { "v": "Unit" });
    both_ways(&External::One(ID), doc! { "One": stored_id() });
    both_ways(&External::Two(ID, 7), doc! { "Two": [stored_id(), 7] });
    both_ways(
        &External::Fields { id: ID },
        doc! { "Fields": { "id": stored_id() } },
    );

    both_ways(&Internal::Unit, doc! { "kind": "Unit" });
    both_ways(
        &Internal::One(WrappedBinary { v: BSON_ID }),
        doc! { "kind": "One", "v": stored_id() },
    );
    let fields = Internal::Fields { id: BSON_ID, n: 1 };
    both_ways(&fields, doc! { "kind": "Fields", "id": stored_id(), "n": 1_i64 });

    both_ways(&Adjacent::Unit, doc! { "kind": "Unit" });
    both_ways(
        &Adjacent::One(BSON_ID),
        doc! { "kind": "One", "data": stored_id() },
    );
    both_ways(
        &Adjacent::Two(BSON_ID, 7),
        doc! { "kind": "Two", "data": [stored_id(), 7] },
    );
    let stored = doc! { "kind": "Fields", "data": { "id": stored_id() } };
    both_ways(&Adjacent::Fields { id: BSON_ID }, stored);
    // Serde buffers the content before the tag.
    let turned = doc! { "data": [stored_id(), 7], "kind": "Two" };
    assert_eq!(
        from_document::<Adjacent>(&turned).unwrap(),
        Adjacent::Two(BSON_ID, 7)
    );
    let turned = doc! { "id": stored_id(), "n": 1_i64, "kind": "Fields" };
    assert_eq!(
        from_document::<Internal>(&turned).unwrap(),
        Internal::Fields { id: BSON_ID, n: 1 }
    );

    both_ways(
        &Wrapper {
            v: Untagged::Id(BSON_ID),
        },
        doc! { "v": stored_id() },
    );
    both_ways(
        &Wrapper {
            v: Untagged::Fields { id: BSON_ID },
        },
        doc! { "v": { "id": stored_id() } },
    );
    both_ways(
        &Wrapper {
            v: Untagged::Text("t".into()),
        },
        doc! { "v": "t" },
    );
    let raw = Binary {
        subtype: BinarySubtype::Md5,
        bytes: vec![1; 16],
    };
    both_ways(
        &Wrapper {
            v: Untagged::Raw(raw.clone()),
        },
        doc! { "v": raw },
    );
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Base {
    id: BsonUuid,
    others: Vec<BsonUuid>,
    maybe: Option<BsonUuid>,
    binary: Binary,
    driver_id: marula_driver::bson::Uuid,
    object: ObjectId,
    at: DateTime,
    price: Decimal128,
    ts: Timestamp,
    pattern: Regex,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Flattened {
    first: i32,
    #[serde(flatten)]
    base: Base,
    #[serde(flatten)]
    extra: HashMap<String, Bson>,
}

#[test]
fn uuids_and_binaries_share_a_flattened_struct() {
    // The same 16 bytes of subtype 4 as a UUID, as a `Binary` of crate bson and as a `Bson`: serde
    // buffers all of them in one form.
    let same = Binary {
        subtype: BinarySubtype::Uuid,
        bytes: ID.as_bytes().to_vec(),
    };
    let value = Flattened {
        first: 1,
        base: Base {
            id: BSON_ID,
            others: vec![BSON_ID, BsonUuid::from_bytes([0; 16])],
            maybe: Some(BSON_ID),
            binary: same,
            driver_id: marula_driver::bson::Uuid::from_bytes(*ID.as_bytes()),
            object: ObjectId::from_bytes([7; 12]),
            at: DateTime::from_millis(-12),
            price: "12.50".parse().unwrap(),
            ts: Timestamp {
                time: 5,
                increment: u32::MAX,
            },
            pattern: Regex {
                pattern: "^a".to_owned().try_into().unwrap(),
                options: "ix".to_owned().try_into().unwrap(),
            },
        },
        extra: HashMap::from([
            ("other".to_owned(), stored_id()),
            ("n".to_owned(), Bson::Int32(4)),
        ]),
    };
    let bytes = to_vec(&value).unwrap();
    assert_eq!(from_slice::<Flattened>(&bytes).unwrap(), value);
    let tree = to_document(&value).unwrap();
    assert_eq!(tree.get("id"), Some(&stored_id()));
    assert_eq!(tree.get("binary"), Some(&stored_id()));
}

#[test]
fn uuids_require_subtype_4_and_errors_name_the_type_found() {
    let legacy = doc! { "v": binary(BinarySubtype::UuidOld) };
    let error = fails::<Wrapper<Uuid>>(&legacy);
    assert_eq!(error.path(), "v");
    assert!(
        error.to_string().contains("Binary subtype 3, a legacy UUID"),
        "{error}"
    );
    let error = fails::<Wrapper<Uuid>>(&doc! { "v": binary(BinarySubtype::Generic) });
    assert!(error.to_string().contains("found Binary subtype 0"), "{error}");
    let error = fails::<Wrapper<marula_driver::bson::Uuid>>(&legacy);
    assert!(error.to_string().contains("subtype 3"), "{error}");
    let error = fails::<Wrapper<Uuid>>(&doc! { "v": ID.to_string() });
    assert!(error.to_string().contains("found String"), "{error}");
    assert!(!error.to_string().contains(&ID.to_string()));

    let flattened = fails::<Flat<Wrapper<Uuid>>>(&legacy);
    assert!(flattened.to_string().contains("UUID"), "{flattened}");
}

/// In a buffered type only strings and Binary of subtype 0 are plain; other values keep their BSON
/// type, or fail.
#[test]
fn uuids_without_the_wrapper_are_an_error_in_buffered_types() {
    let stored = doc! { "v": stored_id() };
    let error = fails::<Flat<Wrapper<Uuid>>>(&stored).to_string();
    assert!(
        error.contains("expected a formatted UUID string, found a map"),
        "{error}"
    );
    let read: Flat<Wrapper<Bson>> = from_document(&stored).unwrap();
    assert_eq!(read.inner.v, stored_id());
    let read: Flat<Wrapper<marula_driver::bson::Uuid>> = from_document(&stored).unwrap();
    assert_eq!(read.inner.v.bytes(), *ID.as_bytes());
    let json = serde_json::to_string(&Internal::Fields { id: BSON_ID, n: 1 }).unwrap();
    assert_eq!(
        serde_json::from_str::<Internal>(&json).unwrap(),
        Internal::Fields { id: BSON_ID, n: 1 }
    );
}

/// Serde buffers an ObjectId as a map, which `ObjectId` deserializes in every variant.
#[test]
fn object_ids_and_dates_work_in_untagged_enums() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    #[serde(untagged)]
    enum Key {
        Text(String),
        Number(i64),
        Id(ObjectId),
        At(DateTime),
        Both { id: ObjectId, at: DateTime },
    }
    let (id, at) = (ObjectId::from_bytes([0xab; 12]), DateTime::from_millis(-5));
    both_ways(
        &Wrapper {
            v: Key::Text("t".into()),
        },
        doc! { "v": "t" },
    );
    both_ways(&Wrapper { v: Key::Number(3) }, doc! { "v": 3_i64 });
    both_ways(&Wrapper { v: Key::Id(id) }, doc! { "v": id });
    both_ways(&Wrapper { v: Key::At(at) }, doc! { "v": at });
    both_ways(
        &Wrapper {
            v: Key::Both { id, at },
        },
        doc! { "v": { "id": id, "at": at } },
    );
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Flat<T> {
    #[serde(flatten)]
    inner: T,
}

#[test]
fn byte_buffers_are_read_from_any_subtype() {
    for subtype in [BinarySubtype::Generic, BinarySubtype::Md5, BinarySubtype::Uuid] {
        let stored = doc! { "v": binary(subtype) };
        let read: Wrapper<serde_bytes::ByteBuf> = from_document(&stored).unwrap();
        assert_eq!(read.v.as_ref(), ID.as_bytes());
        let read: Flat<Wrapper<Binary>> = from_document(&stored).unwrap();
        assert_eq!(Bson::Binary(read.inner.v), binary(subtype));
        let read = from_document::<Flat<Wrapper<serde_bytes::ByteBuf>>>(&stored);
        if subtype == BinarySubtype::Generic {
            assert_eq!(read.unwrap().inner.v.as_ref(), ID.as_bytes());
        } else {
            let error = read.unwrap_err().to_string();
            assert!(error.contains("found a map"), "{error}");
        }
    }
    let written = to_document(&Wrapper {
        v: serde_bytes::Bytes::new(ID.as_bytes()),
    })
    .unwrap();
    assert_eq!(written, doc! { "v": binary(BinarySubtype::Generic) });
    let old = Wrapper {
        v: Binary {
            subtype: BinarySubtype::BinaryOld,
            bytes: vec![1, 2],
        },
    };
    let bytes = to_vec(&old).unwrap();
    assert_eq!(bytes[7..16], [6, 0, 0, 0, 2, 2, 0, 0, 0]);
    assert_eq!(from_slice::<Wrapper<Binary>>(&bytes).unwrap(), old);
}
