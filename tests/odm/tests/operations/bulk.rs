//! Bulk writes on one collection and on several.

use std::error::Error as _;

use crate::common::{Env, Order, order};
use marula::bson::{ObjectId, doc};
use marula::collection::Bulk;
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
        .on(&stock, |b| b.insert(&item("tea", 5)))
        .on(&orders, |b| b.insert(&order))
        .on(&stock, |b| {
            b.update_one(|i| i.sku().eq("tea"), |i| i.left().inc(-2))
        })
        .on(&orders, |b| b.update_by_id(order.id, |o| o.note().set("x")))
        .on(&stock, |b| {
            b.update_many(|i| i.left().gt(0), |i| i.left().inc(1))
                .upsert_one(|i| i.sku().eq("milk"), |i| i.left().set(1))
        })
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
        .on(&orders, |b| b.replace(&order))
        .on(&stock, |b| {
            b.replace_one(|i| i.sku().eq("milk"), &item("sugar", 2))
        })
        .on(&orders, |b| b.insert(&order))
        .on(&stock, |b| b.delete_one(|i| i.sku().eq("tea")))
        .await
        .unwrap_err();
    assert_eq!(
        failed.to_string(),
        "a write of the bulk write failed: insert of Order at index 2 (code 11000)"
    );
    let invalid = env
        .client()
        .bulk()
        .on(&stock, |b| b.delete_many(|_| Filter::all([])))
        .await
        .unwrap_err();
    assert!(matches!(invalid, Error::InvalidBulkWrite { .. }), "{invalid}");
    let deleted = env
        .client()
        .bulk()
        .on(&orders, |b| b.delete_by_id(order.id))
        .on(&stock, |b| {
            b.delete_one(|i| i.sku().eq("tea"))
                .delete_many(|_| Filter::everything())
        })
        .ordered(false)
        .await
        .unwrap();
    assert_eq!(deleted.deleted_count, 3);
    env.stop().await;
}

/// Writes that are added in the same way to a bulk write of a collection and to that of a client.
fn restock<At>(bulk: Bulk<'_, Item, At>, left: i32) -> Bulk<'_, Item, At> {
    let named = WriteModel::update_one(doc! { "sku": "tea" }, doc! { "$set": { "left": left } });
    bulk.update_many(|_| Filter::everything(), move |i| i.left().set(left))
        .raw(named.hint("_id_"))
}

#[tokio::test]
async fn raw_writes_and_generic_functions_add_to_both_kinds_of_bulk_writes() {
    let env = Env::start().await;
    let stock = env.db.collection::<Item>();
    stock.insert_one(&item("tea", 5)).await.unwrap();
    let result = restock(stock.bulk(), 6).await.unwrap();
    assert_eq!((result.matched_count, result.modified_count), (2, 1));
    if !env.is_before(8, 0).await {
        let bulk = env.client().bulk().on(&stock, |b| restock(b, 7));
        // A part without writes.
        let bulk = bulk.on(&stock, |b| b).on(&stock, |b| {
            b.raw(WriteModel::insert_one(
                &doc! { "_id": 1, "sku": "milk", "left": 1 },
            ))
            .raw(WriteModel::delete_many(doc! { "sku": "milk" }))
        });
        let result = bulk.verbose_results(true).await.unwrap();
        assert_eq!((result.matched_count, result.modified_count), (2, 1));
        assert_eq!((result.inserted_count, result.deleted_count), (1, 1));
        let verbose = result.verbose_results.unwrap();
        assert!(verbose.insert_results.keys().eq(&[2]) && verbose.delete_results.keys().eq(&[3]));
    }
    let left = stock.find_one(|i| i.sku().eq("tea")).required().await;
    assert!([6, 7].contains(&left.unwrap().left));
    env.stop().await;
}

#[tokio::test]
async fn an_invalid_write_of_a_part_is_named_and_nothing_is_sent() {
    let env = Env::start().await;
    let other = Env::start().await;
    let (orders, stock) = (env.db.collection::<Order>(), env.db.collection::<Item>());
    let foreign = other.db.collection::<Item>();
    let start = || {
        env.client()
            .bulk()
            .on(&orders, |b| b.insert(&order(1)).insert(&order(2)))
    };
    let replaced = item("a", 1);
    let empty = start()
        .on(&stock, |b| b.insert(&replaced).replace(&replaced))
        .on(&stock, |b| b.delete_many(|_| Filter::all([])));
    let client = start()
        .on(&foreign, |b| b)
        .on(&foreign, |b| b.insert(&replaced).replace(&replaced))
        .on(&stock, |b| b.replace(&replaced));
    for (bulk, write, reason) in [
        (
            empty,
            "replace of Item at index 3",
            "does not identify the document",
        ),
        (
            client,
            "insert of Item at index 2",
            "belongs to another client than the bulk write",
        ),
    ] {
        let invalid = bulk.await.unwrap_err();
        assert_eq!(
            invalid.to_string(),
            format!("the bulk write is invalid at its {write}")
        );
        let source = invalid.source().unwrap().to_string();
        assert!(source.contains(reason), "{source}");
    }
    assert!(!orders.exists(|_| Filter::everything()).await.unwrap());
    other.stop().await;
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
        .on(&orders, |b| b.insert(&order(1)))
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
