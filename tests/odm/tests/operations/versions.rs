//! Optimistic locking by `#[document(version)]`.

use crate::common::Env;
use marula::bson::{Document as BsonDocument, doc};
use marula::driver::UpdateResult;
use marula::prelude::*;
use marula::{Collection, Document, Error};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i64,
    total: i64,
    #[document(version)]
    lock_version: i32,
}

fn order(id: i64) -> Order {
    Order {
        id,
        total: 10,
        lock_version: 0,
    }
}

fn is_conflict<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.expect_err("a conflict");
    assert!(matches!(error, Error::VersionConflict { .. }), "{error}");
    assert!(
        error.to_string().contains("was changed or deleted since it was read"),
        "{error}"
    );
}

async fn stored(orders: &Collection<Order>, id: i64) -> (i64, i32) {
    let found = orders.find_by_id(id).required().await.expect("an order");
    (found.total, found.lock_version)
}

#[tokio::test]
async fn a_lost_race_of_replacements_is_a_conflict() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let (mut a, mut b) = (order(1), order(1));
    (a.total, b.total) = (11, 12);
    assert_eq!(orders.replace(&a).await.unwrap().matched_count, 1);
    assert_eq!(stored(&orders, 1).await, (11, 1));
    is_conflict(orders.replace(&b).await);
    is_conflict(orders.replace(&b).required().await);
    is_conflict(orders.replace_one(|o| o.total().eq(11), &b).await);
    is_conflict(orders.replace(&b).upsert(true).await);
    is_conflict(orders.find_one_and_replace(|o| o.id().eq(1), &b).await);
    is_conflict(
        orders
            .find_one_and_replace(|o| o.id().eq(1), &b)
            .upsert(true)
            .await,
    );
    assert_eq!(stored(&orders, 1).await, (11, 1));
    // No document: not a conflict.
    assert_eq!(orders.replace(&order(2)).await.unwrap(), UpdateResult::default());
    let missing = orders.replace(&order(2)).required().await.unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    let none = orders
        .find_one_and_replace(|o| o.id().eq(2), &order(2))
        .await
        .unwrap();
    assert_eq!(none, None);
    b.lock_version = 1;
    let new = orders.find_one_and_replace(|o| o.id().eq(1), &b).returning_new();
    assert_eq!(new.required().await.unwrap().lock_version, 2);
    env.stop().await;
}

#[tokio::test]
async fn a_saved_struct_has_the_new_version() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let mut order = order(1);
    orders.save(&mut order).await.unwrap();
    assert_eq!((order.lock_version, stored(&orders, 1).await), (1, (10, 1)));
    order.total = 20;
    orders.save(&mut order).await.unwrap();
    assert_eq!((order.lock_version, stored(&orders, 1).await), (2, (20, 2)));
    let mut old = Order {
        lock_version: 1,
        ..order.clone()
    };
    let conflict = orders.save(&mut old).await.unwrap_err();
    let Error::VersionConflict { collection, id } = &conflict else {
        panic!("{conflict}");
    };
    assert_eq!(collection, &orders.namespace().to_string());
    assert_eq!(id.as_deref(), Some(&marula::bson::Bson::Int64(1)));
    assert_eq!(old.lock_version, 1);
    // The struct behind a shared reference keeps its version.
    orders.save(&order).await.unwrap();
    is_conflict(orders.save(&order).await);
    env.stop().await;
}

#[tokio::test]
async fn a_conflict_of_a_save_in_a_bulk_write_is_a_failed_write() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = env.db.collection::<Order>();
    orders.save(&order(1)).await.unwrap();
    let failed = orders.bulk().save(&order(2)).save(&order(1)).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "a write of the bulk write failed: save of Order at index 1 (code 11000)"
    );
    let current = Order {
        lock_version: 1,
        ..order(1)
    };
    env.client().bulk().save(&orders, &current).await.unwrap();
    assert_eq!(
        (stored(&orders, 1).await, stored(&orders, 2).await),
        ((10, 2), (10, 1))
    );
    // A conflict of a replacement is visible in the counts.
    let result = orders.bulk().replace(&current).await.unwrap();
    assert_eq!(result.matched_count, 0);
    env.stop().await;
}

#[tokio::test]
async fn every_update_increments_the_version() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many([order(1), order(2)]).await.unwrap();
    orders.update_by_id(1, |o| o.total().inc(1)).await.unwrap();
    orders.update_all(|o| o.total().inc(1)).await.unwrap();
    orders
        .find_one_and_update(|o| o.id().eq(1), |o| o.total().inc(1))
        .await
        .unwrap();
    assert_eq!(stored(&orders, 1).await, (13, 3));
    let pipeline = marula::Update::<Order>::pipeline([doc! { "$set": { "total": 1 } }]);
    orders.update_by_id(1, |_| pipeline).await.unwrap();
    assert_eq!(stored(&orders, 1).await, (1, 4));
    orders
        .bulk()
        .update_by_id(1, |o| o.total().set(2))
        .replace(&Order { total: 3, ..order(2) })
        .await
        .unwrap();
    assert_eq!(
        (stored(&orders, 1).await, stored(&orders, 2).await),
        ((2, 5), (11, 1))
    );
    // An update that sets the version itself is not changed.
    orders
        .update_by_id(1, |o| o.lock_version().set(100))
        .await
        .unwrap();
    assert_eq!(stored(&orders, 1).await, (2, 100));
    let upserted = orders.upsert_with(|o| o.id().eq(3), |o| o.total().inc(1), &order(3));
    upserted.await.unwrap();
    assert_eq!(stored(&orders, 3).await, (1, 1));
    env.stop().await;
}

#[tokio::test]
async fn documents_without_a_version_are_replaced_once() {
    let env = Env::start().await;
    #[derive(Clone, Debug, Serialize, Deserialize, Document)]
    #[document(collection = "orders")]
    struct Lenient {
        _id: i64,
        #[serde(default)]
        #[document(version)]
        v: i64,
    }
    let orders = env.db.collection::<Lenient>();
    let raw = env.db.driver().collection::<BsonDocument>("orders");
    raw.insert_one(&doc! { "_id": 1 }).await.unwrap();
    orders
        .update_by_id(1, |o| o._id().set_on_insert(1))
        .await
        .unwrap();
    let mut read = orders.find_by_id(1).required().await.unwrap();
    assert_eq!(read.v, 1);
    orders.save(&mut read).await.unwrap();
    assert_eq!(read.v, 2);
    let largest = Lenient { _id: 2, v: i64::MAX };
    let refused = orders.save(&largest).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Encode { path, .. } if path == "v"),
        "{refused}"
    );
    env.stop().await;
}

#[tokio::test]
async fn conflicts_are_found_within_a_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = env.db.collection::<Order>();
    let mut tx = env.client().start_transaction().await.unwrap();
    let mut a = order(1);
    orders.save(&mut a).session(&mut tx).await.unwrap();
    // Only the transaction sees the document.
    is_conflict(orders.replace(&order(1)).session(&mut tx).await);
    orders.save(&mut a).session(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(stored(&orders, 1).await, (10, 2));
    env.stop().await;
}

#[tokio::test]
async fn pipelines_that_replace_the_document_keep_the_version() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let stages = [
        doc! { "$replaceWith": { "_id": "$_id", "total": 11 } },
        doc! { "$replaceRoot": { "newRoot": { "_id": "$_id", "total": 12 } } },
        doc! { "$project": { "total": 1 } },
        doc! { "$set": { "total": 14 } },
    ];
    for (version, stage) in (1..).zip(stages) {
        let update = marula::Update::<Order>::pipeline([stage]);
        orders.update_by_id(1, |_| update).required().await.unwrap();
        assert_eq!(stored(&orders, 1).await.1, version);
    }
    // A struct of version 1 is older than what is stored.
    let mut old = order(1);
    old.lock_version = 1;
    is_conflict(orders.replace(&old).await);
    // A pipeline that sets the version itself starts from it.
    let update = doc! { "$replaceWith": { "_id": "$_id", "total": 15, "lockVersion": 40 } };
    let update = marula::Update::<Order>::pipeline([update]);
    orders.update_by_id(1, |_| update).required().await.unwrap();
    assert_eq!(stored(&orders, 1).await, (15, 41));
    env.stop().await;
}
