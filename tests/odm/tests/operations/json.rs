//! `serde_json::Value` and `serde_json::Map` as fields.

use crate::common::Env;
use marula::Document;
use marula::bson::{Bson, DateTime, Document as BsonDocument, doc};
use marula::prelude::*;
use serde_json::{Map, Value as Json, json};

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "deliveries")]
struct Delivery {
    _id: i64,
    payload: Json,
    headers: Option<Map<String, Json>>,
    #[serde(flatten)]
    other: Map<String, Json>,
}

fn object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

fn delivery(id: i64, payload: Json) -> Delivery {
    Delivery {
        _id: id,
        payload,
        headers: Some(object(json!({ "retries": id, "tags": ["a", "b"] }))),
        other: object(json!({ "source": "web" })),
    }
}

#[tokio::test]
async fn json_is_stored_as_bson_and_read_back() {
    let env = Env::start().await;
    let deliveries = env.db.collection::<Delivery>();
    let payloads = [
        json!(null),
        json!(true),
        json!(5),
        json!(-1.5),
        json!(i64::MIN),
        json!("text"),
        json!([1, [2, { "a": null }]]),
        json!({ "kind": "paid", "lines": [{ "sku": "a", "qty": 2 }], "": {} }),
    ];
    let all: Vec<Delivery> = (1..).zip(payloads).map(|(id, of)| delivery(id, of)).collect();
    deliveries.insert_many(&all).await.unwrap();
    let found = deliveries.find_all().sort(|d| d._id().asc()).all().await.unwrap();
    assert_eq!(found, all);
    let raw = deliveries.driver().clone_with_type::<BsonDocument>();
    let stored = raw.find_one(doc! { "_id": 8 }).await.unwrap().unwrap();
    let expected = doc! {
        "_id": 8_i64,
        "payload": { "kind": "paid", "lines": [{ "sku": "a", "qty": 2_i64 }], "": {} },
        "headers": { "retries": 8_i64, "tags": ["a", "b"] },
        "source": "web",
    };
    assert_eq!(stored, expected);
    env.stop().await;
}

#[tokio::test]
async fn json_is_compared_and_changed() {
    let env = Env::start().await;
    let deliveries = env.db.collection::<Delivery>();
    let paid = delivery(1, json!({ "kind": "paid", "total": 5 }));
    let open = delivery(2, json!({ "kind": "open", "total": 7.5 }));
    deliveries.insert_many([&paid, &open]).await.unwrap();
    let find = async |filter: marula::Filter<Delivery>| {
        let mut found = deliveries.find(|_| filter).all().await.unwrap();
        found.sort_by_key(|found| found._id);
        found.iter().map(|found| found._id).collect::<Vec<_>>()
    };
    let d = Delivery::fields();
    assert_eq!(find(d.payload().eq(&paid.payload)).await, [1]);
    assert_eq!(find(d.payload().eq("paid")).await, [0_i64; 0]);
    assert_eq!(find(d.payload().entry("kind").eq("open")).await, [2]);
    assert_eq!(find(d.payload().entry("total").gt(5)).await, [2]);
    assert_eq!(find(d.payload().entry("kind").starts_with("pa")).await, [1]);
    assert_eq!(
        find(d.payload().entry("total").is_in([json!(5), json!(6)])).await,
        [1]
    );
    assert_eq!(find(d.headers().entry("retries").lte(2_i64)).await, [1, 2]);
    assert_eq!(find(d.headers().eq(paid.headers.as_ref().unwrap())).await, [1]);
    deliveries
        .update_by_id(1, |d| {
            (
                d.payload().set(json!({ "kind": "void" })),
                d.headers().entry("retries").set(9),
                d.other().entry("hits").inc(1),
            )
        })
        .await
        .unwrap();
    let changed = deliveries.find_by_id(1).required().await.unwrap();
    assert_eq!(changed.payload, json!({ "kind": "void" }));
    assert_eq!(changed.headers.unwrap()["retries"], json!(9));
    assert_eq!(changed.other["hits"], json!(1));
    env.stop().await;
}

/// Nothing is rounded, or read as something else.
#[tokio::test]
async fn what_json_or_bson_does_not_have_is_an_error() {
    let env = Env::start().await;
    let deliveries = env.db.collection::<Delivery>();
    let insert = async |payload: Json| {
        let error = deliveries.insert_one(&delivery(1, payload)).await.unwrap_err();
        error.to_string()
    };
    let error = insert(json!({ "a": [1, u64::MAX] })).await;
    assert!(error.contains("payload.a[1]"), "{error}");
    let error = insert(json!({ "a\0b": 1 })).await;
    assert!(error.contains("zero byte") || error.contains("NUL"), "{error}");
    // The name of a field of the model.
    let mut taken = delivery(1, json!(1));
    taken.other.insert("payload".into(), json!(2));
    let error = deliveries.insert_one(&taken).await.unwrap_err().to_string();
    assert!(error.contains("`payload`"), "{error}");
    assert_eq!(
        deliveries.count(|_| marula::Filter::everything()).await.unwrap(),
        0
    );

    let raw = deliveries.driver().clone_with_type::<BsonDocument>();
    let cases: [(Bson, &str); 3] = [
        (DateTime::from_millis(0).into(), "expected a value that JSON has"),
        (f64::INFINITY.into(), "JSON has no number inf"),
        (f64::NAN.into(), "JSON has no number NaN"),
    ];
    for (id, (value, expected)) in (1_i64..).zip(cases) {
        let stored = doc! { "_id": id, "payload": { "a": [value] }, "headers": null };
        raw.insert_one(&stored).await.unwrap();
        let error = deliveries.find_by_id(id).await.unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("payload.a[0]"),
            "{error}"
        );
    }
    env.stop().await;
}
