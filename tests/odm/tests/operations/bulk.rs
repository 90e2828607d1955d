//! Bulk writes on one collection and on several.

use std::error::Error as _;

use crate::common::{Env, Order, order};
use marula::bson::{ObjectId, doc};
use marula::driver::WriteModel;
use marula::prelude::*;
use marula::{Document, Error, Filter};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "stock")]
struct Item {
    #[serde(rename = "_id")]
    id: Option<ObjectId>,
    sku: String,
    left: i32,
}

fn item(sku: &str, left: i32) -> Item {
    Item {
        id: None,
        sku: sku.to_owned(),
        left,
    }
}

#[tokio::test]
async fn all_kinds_of_writes_are_performed_in_order() {
    let env = Env::start().await;
    let stock = env.db.collection::<Item>();
    let result = stock
        .bulk()
        .insert(&item("a", 1))
        .insert(&item("b", 2))
        .insert(&item("c", 3))
        .update_one(|i| i.sku().eq("a"), |i| i.left().inc(10))
        .update_many(|i| i.left().lt(5), |i| i.left().inc(100))
        .upsert_one(|i| i.sku().eq("d"), |i| i.left().set(4))
        .replace_one(|i| i.sku().eq("b"), &item("e", 5))
        .delete_one(|i| i.sku().eq("c"))
        .raw(WriteModel::update_one(doc! { "sku": "e" }, doc! { "$set": { "left": 6 } }).hint("_id_"))
        .await
        .unwrap();
    assert_eq!((result.inserted_count, result.deleted_count), (3, 1));
    assert_eq!(result.upserted_ids.keys().collect::<Vec<_>>(), [&5]);
    let all = stock.find_all().sort(|i| i.left().asc()).await.unwrap();
    let all: Vec<_> = all.iter().map(|i| (i.sku.as_str(), i.left)).collect();
    assert_eq!(all, [("d", 4), ("e", 6), ("a", 11)]);

    let one = stock.find_one(|i| i.sku().eq("a")).required().await.unwrap();
    let changed = Item {
        left: 7,
        ..one.clone()
    };
    let result = stock
        .bulk()
        .replace(&changed)
        .update_by_id(one.id, |i| i.left().inc(1))
        .delete_many(|i| i.left().lt(7))
        .ordered(true)
        .await
        .unwrap();
    assert_eq!((result.matched_count, result.deleted_count), (2, 2));
    let result = stock.bulk().delete_by_id(one.id).await.unwrap();
    assert_eq!(result.deleted_count, 1);
    env.stop().await;
}

#[tokio::test]
async fn without_writes_nothing_is_sent() {
    // Nothing listens on the port.
    let client = marula::connect("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1")
        .await
        .unwrap();
    let stock = client.database("test").collection::<Item>();
    assert_eq!(stock.bulk().await.unwrap().inserted_count, 0);
    assert!(client.bulk().await.unwrap().acknowledged);
    assert!(
        stock
            .insert_many(&[] as &[Item])
            .await
            .unwrap()
            .inserted_ids
            .is_empty()
    );
    client.shutdown().await;
}

#[tokio::test]
async fn a_rejected_write_is_named() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let first = order(1);
    let failed = orders
        .bulk()
        .insert(&first)
        .insert(&first)
        .delete_many(|_| Filter::everything())
        .await
        .unwrap_err();
    assert_eq!(
        failed.to_string(),
        "a write of the bulk write failed: insert of Order at index 1 (code 11000)"
    );
    let Error::BulkWrite {
        failed: writes,
        source: Some(source),
        ..
    } = &failed
    else {
        panic!("{failed}");
    };
    assert_eq!(writes[0].operation.index, 1);
    assert_eq!(writes[0].error().map(|e| (e.index, e.code)), Some((1, 11_000)));
    assert_eq!(
        (writes[0].operation.model, writes[0].operation.operation),
        ("Order", "insert")
    );
    assert!(source.is_duplicate_key() && failed.driver().is_some() && failed.source().is_some());
    assert_eq!(orders.find_all().await.unwrap().len(), 1);

    let failed = orders
        .bulk()
        .insert(&first)
        .insert(&first)
        .delete_many(|_| Filter::everything())
        .ordered(false)
        .await
        .unwrap_err();
    assert_eq!(
        failed.to_string(),
        "2 writes of the bulk write failed: insert of Order at index 0 (code 11000), insert of Order at index 1 (code 11000)"
    );
    assert!(orders.find_all().await.unwrap().is_empty());
    env.stop().await;
}

#[tokio::test]
async fn an_invalid_write_is_named_and_nothing_is_sent() {
    let env = Env::start().await;
    let stock = env.db.collection::<Item>();
    let empty = stock
        .bulk()
        .insert(&item("a", 1))
        .delete_many(|_| Filter::all([]));
    let invalid = empty
        .update_one(|_| Filter::all([]), |i| i.left().set(1))
        .await
        .unwrap_err();
    assert_eq!(
        invalid.to_string(),
        "the bulk write is invalid at its delete_many of Item at index 1"
    );
    let source = invalid.source().unwrap().to_string();
    assert!(source.contains("it has no conditions"), "{source}");
    let invalid = stock.bulk().replace(&item("a", 1)).await.unwrap_err();
    assert!(
        matches!(&invalid, Error::InvalidBulkWrite { source, .. } if matches!(**source, Error::MissingId { .. })),
        "{invalid}"
    );
    assert!(stock.find_all().await.unwrap().is_empty());
    env.stop().await;
}

#[tokio::test]
async fn a_bulk_write_of_the_client_writes_to_several_models() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    if env.lacks("client bulk writes", doc! { "ping": 1 }).await {
        return;
    }
    let (orders, stock) = (env.db.collection::<Order>(), env.db.collection::<Item>());
    let order = order(1);
    let result = env
        .client()
        .bulk()
        .insert(&stock, &item("tea", 5))
        .insert(&orders, &order)
        .update_one(&stock, |i| i.sku().eq("tea"), |i| i.left().inc(-2))
        .update_by_id(&orders, order.id, |o| o.note().set("x"))
        .update_many(&stock, |i| i.left().gt(0), |i| i.left().inc(1))
        .upsert_one(&stock, |i| i.sku().eq("milk"), |i| i.left().set(1))
        .verbose_results(true)
        .await
        .unwrap();
    assert_eq!((result.inserted_count, result.upserted_count), (2, 1));
    assert_eq!(result.verbose_results.unwrap().insert_results.len(), 2);
    assert_eq!(
        stock
            .find_one(|i| i.sku().eq("tea"))
            .required()
            .await
            .unwrap()
            .left,
        4
    );

    let failed = env
        .client()
        .bulk()
        .replace(&orders, &order)
        .replace_one(&stock, |i| i.sku().eq("milk"), &item("sugar", 2))
        .insert(&orders, &order)
        .delete_one(&stock, |i| i.sku().eq("tea"))
        .await
        .unwrap_err();
    assert_eq!(
        failed.to_string(),
        "a write of the bulk write failed: insert of Order at index 2 (code 11000)"
    );
    let invalid = env
        .client()
        .bulk()
        .delete_many(&stock, |_| Filter::all([]))
        .await
        .unwrap_err();
    assert!(matches!(invalid, Error::InvalidBulkWrite { .. }), "{invalid}");
    let deleted = env
        .client()
        .bulk()
        .delete_by_id(&orders, order.id)
        .delete_one(&stock, |i| i.sku().eq("tea"))
        .delete_many(&stock, |_| Filter::everything())
        .ordered(false)
        .await
        .unwrap();
    assert_eq!(deleted.deleted_count, 3);
    env.stop().await;
}

#[tokio::test]
async fn bulk_writes_run_in_transactions() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    let (orders, stock) = (env.db.collection::<Order>(), env.db.collection::<Item>());
    let mut tx = env.client().start_transaction().await.unwrap();
    stock.bulk().insert(&item("a", 1)).session(&mut tx).await.unwrap();
    env.client()
        .bulk()
        .insert(&orders, &order(1))
        .session(&mut tx)
        .await
        .unwrap();
    assert!(
        orders
            .exists(|_| Filter::everything())
            .session(&mut tx)
            .await
            .unwrap()
    );
    tx.abort().await.unwrap();
    assert!(!orders.exists(|_| Filter::everything()).await.unwrap());
    assert!(!stock.exists(|_| Filter::everything()).await.unwrap());
    env.stop().await;
}
