//! Values in filters are encoded as in stored documents: every field is found by its value.

use std::collections::BTreeMap;

use crate::common::{Env, decimal};
use marula::bson::{Binary, Bson, DateTime, Decimal128, ObjectId, Timestamp, spec::BinarySubtype};
use marula::geo::Point;
use marula::prelude::*;
use marula::{Document, Embedded, Fields, Filter};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Sku(String);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
struct CustomerId {
    id: Uuid,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "kebab-case")]
enum Level {
    VeryHigh,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum External {
    Pair { a: Uuid, b: Option<i64> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Flat {
    flat_uuid: Uuid,
    flat_decimal: Decimal128,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "values")]
struct Everything {
    #[serde(rename = "_id")]
    #[document(id = uuid_v4)]
    id: Uuid,
    tiny: i8,
    small: u16,
    int: i32,
    unsigned: u32,
    long: i64,
    big: u64,
    size: usize,
    float: f32,
    double: f64,
    flag: bool,
    letter: char,
    text: String,
    object_id: ObjectId,
    date: DateTime,
    decimal: Decimal128,
    timestamp: Timestamp,
    binary: Binary,
    bson_uuid: marula::bson::Uuid,
    uuid: Uuid,
    maybe_uuid: Option<Uuid>,
    no_uuid: Option<Uuid>,
    uuids: Vec<Uuid>,
    by_name: BTreeMap<String, Uuid>,
    sku: Sku,
    customer: CustomerId,
    level: Level,
    external: External,
    #[serde(flatten)]
    flat: Flat,
    place: Point,
    any: Bson,
}

fn everything() -> Everything {
    let uuid = Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
    Everything {
        id: Everything::new_id(),
        tiny: -8,
        small: 65_535,
        int: -32,
        unsigned: u32::MAX,
        long: i64::MIN,
        big: 1 << 62,
        size: 7,
        float: 0.5,
        double: 0.1,
        flag: true,
        letter: 'ß',
        text: "text".to_owned(),
        object_id: ObjectId::from_bytes([7; 12]),
        date: DateTime::from_millis(-5),
        decimal: decimal("-1.10"),
        timestamp: Timestamp {
            time: 4,
            increment: 5,
        },
        binary: Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![1; 16],
        },
        bson_uuid: marula::bson::Uuid::from_bytes(*uuid.as_bytes()),
        uuid,
        maybe_uuid: Some(uuid),
        no_uuid: None,
        uuids: vec![uuid, Uuid::nil()],
        by_name: BTreeMap::from([("a".to_owned(), uuid)]),
        sku: Sku("sku".to_owned()),
        customer: CustomerId { id: uuid },
        level: Level::VeryHigh,
        external: External::Pair { a: uuid, b: None },
        flat: Flat {
            flat_uuid: uuid,
            flat_decimal: decimal("3"),
        },
        place: Point::new([8.5, 47.4]),
        any: Bson::Int32(3),
    }
}

#[tokio::test]
async fn every_field_is_found_by_its_value() {
    type Condition = fn(Fields<Everything>, &Everything) -> Filter<Everything>;
    let conditions: [(&str, Condition); 36] = [
        ("id", |f, v| f.id().eq(v.id)),
        ("tiny", |f, v| f.tiny().eq(v.tiny)),
        ("small", |f, v| f.small().eq(v.small)),
        ("int", |f, v| f.int().eq(v.int)),
        ("unsigned", |f, v| f.unsigned().eq(v.unsigned)),
        ("long", |f, v| f.long().eq(v.long)),
        ("big", |f, v| f.big().eq(v.big)),
        ("size", |f, v| FilterOps::eq(&f.size(), v.size)),
        ("float", |f, v| f.float().eq(v.float)),
        ("double", |f, v| f.double().eq(v.double)),
        ("flag", |f, v| f.flag().eq(v.flag)),
        ("letter", |f, v| f.letter().eq(v.letter)),
        ("text", |f, v| f.text().eq(&v.text)),
        ("object_id", |f, v| f.object_id().eq(v.object_id)),
        ("date", |f, v| f.date().eq(v.date)),
        ("decimal", |f, v| f.decimal().eq(v.decimal)),
        ("timestamp", |f, v| f.timestamp().eq(v.timestamp)),
        ("binary", |f, v| f.binary().eq(&v.binary)),
        ("bson_uuid", |f, v| f.bson_uuid().eq(v.bson_uuid)),
        ("uuid", |f, v| f.uuid().eq(v.uuid)),
        ("maybe_uuid", |f, v| {
            f.maybe_uuid().eq(v.maybe_uuid) & f.maybe_uuid().eq(v.uuid)
        }),
        ("no_uuid", |f, v| {
            f.no_uuid().eq(v.no_uuid) & f.no_uuid().is_null()
        }),
        ("uuids", |f, v| f.uuids().eq(&v.uuids)),
        ("uuids contain", |f, v| f.uuids().contains(v.uuid)),
        ("uuids match", |f, v| f.uuids().elem_match(|u| u.is_in([v.uuid]))),
        ("by_name", |f, v| f.by_name().eq(v.by_name.clone())),
        ("entry", |f, v| f.by_name().entry("a").eq(v.uuid)),
        ("sku", |f, v| f.sku().eq(&v.sku) & f.sku().starts_with("sk")),
        ("customer", |f, v| f.customer().eq(&v.customer)),
        ("level", |f, v| f.level().eq(&v.level)),
        ("external", |f, v| f.external().eq(&v.external)),
        ("variant", |f, v| {
            f.external().pair().a().eq(v.uuid) & f.external().is_pair()
        }),
        ("flat uuid", |f, v| f.flat().flat_uuid().eq(v.flat.flat_uuid)),
        ("flat decimal", |f, v| {
            f.flat().flat_decimal().eq(v.flat.flat_decimal)
        }),
        ("place", |f, v| f.place().eq(&v.place)),
        ("any", |f, v| f.any().eq(v.any.clone())),
    ];
    let env = Env::start().await;
    let values = env.db.collection::<Everything>();
    let all = everything();
    values.insert_one(&all).await.unwrap();
    assert_eq!(values.find_by_id(all.id).required().await.unwrap(), all);
    for (name, condition) in conditions {
        assert_eq!(values.count(|f| condition(f, &all)).await.unwrap(), 1, "{name}");
    }
    env.stop().await;
}

#[tokio::test]
async fn setting_a_field_keeps_its_encoding() {
    let env = Env::start().await;
    let values = env.db.collection::<Everything>();
    let all = everything();
    values.insert_one(&all).await.unwrap();
    let set = values
        .update_by_id(all.id, |f| {
            let first = (
                f.tiny().set(all.tiny),
                f.small().set(all.small),
                f.unsigned().set(all.unsigned),
                f.big().set(all.big),
                f.letter().set(all.letter),
                f.bson_uuid().set(all.bson_uuid),
                f.uuid().set(all.uuid),
                f.maybe_uuid().set(all.uuid),
                f.no_uuid().set_null(),
                f.uuids().set(&all.uuids),
            );
            let second = (
                f.by_name().set(all.by_name.clone()),
                f.sku().set(&all.sku),
                f.customer().set(&all.customer),
                f.level().set(&all.level),
                f.external().set(&all.external),
                f.flat().flat_uuid().set(all.flat.flat_uuid),
                f.place().set(&all.place),
                f.decimal().set(all.decimal),
            );
            (first, second)
        })
        .await
        .unwrap();
    assert_eq!(
        (set.matched_count, set.modified_count),
        (1, 0),
        "the stored form is the same"
    );
    env.stop().await;
}
