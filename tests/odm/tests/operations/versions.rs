//! Optimistic locking by `#[document(version)]`.

use crate::common::Env;
use marula::bson::{Bson, DateTime, Document as BsonDocument, doc};
use marula::driver::UpdateResult;
use marula::driver::options::WriteConcern;
use marula::error::FailedWriteReason;
use marula::prelude::*;
use marula::{Collection, Document, Error, Fields, Update};
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
        error
            .to_string()
            .contains("was changed or deleted since it was read"),
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
async fn conflicts_in_a_bulk_write_are_failed_writes() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    let orders = env.db.collection::<Order>();
    orders.save(&order(1)).await.unwrap();
    let failed = orders.bulk().save(&order(2)).save(&order(1)).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "a write of the bulk write failed: save of Order at index 1 (version conflict)"
    );
    let current = Order {
        lock_version: 1,
        ..order(1)
    };
    env.client()
        .bulk()
        .on(&orders, |b| b.save(&current))
        .await
        .unwrap();
    assert_eq!(
        (stored(&orders, 1).await, stored(&orders, 2).await),
        ((10, 2), (10, 1))
    );
    assert_eq!(conflicts(failed), [(1, 1)]);
    let on_client = env.client().bulk().on(&orders, |b| b.save(&order(1))).await;
    assert_eq!(conflicts(on_client.unwrap_err()), [(0, 1)]);

    let replacement = orders.bulk().replace(&current).await.unwrap_err();
    assert_eq!(
        replacement.to_string(),
        "a write of the bulk write failed: replace of Order at index 0 (version conflict)"
    );
    assert!(replacement.driver().is_none());
    assert_eq!(conflicts(replacement), [(0, 1)]);
    let on_client = env.client().bulk().on(&orders, |b| b.replace(&current)).await;
    assert_eq!(conflicts(on_client.unwrap_err()), [(0, 1)]);
    env.stop().await;
}

/// The positions and ids of the conflicts, which are all failed writes.
fn conflicts(error: Error) -> Vec<(usize, i64)> {
    let Error::BulkWrite { failed, .. } = error else {
        panic!("another error: {error}");
    };
    let conflicts = failed.iter().map(|write| {
        let FailedWriteReason::VersionConflict { id } = &write.reason else {
            panic!("another reason: {write}");
        };
        assert_eq!(write.operation.model, "Order");
        let id = id.as_ref().and_then(Bson::as_i64).expect("an id");
        (write.operation.index, id)
    });
    conflicts.collect()
}

/// An order with the version that an insert stores.
fn changed(id: i64, total: i64) -> Order {
    Order { total, ..order(id) }
}

#[tokio::test]
async fn a_bulk_write_names_the_replacements_that_lost_a_race() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many((1..=5).map(order)).await.unwrap();
    orders.replace(&changed(2, 99)).await.unwrap();
    orders.replace(&changed(4, 99)).await.unwrap();
    let lost = orders
        .bulk()
        .update_by_id(1, |o| o.total().inc(1))
        .replace(&changed(2, 20))
        .replace(&changed(3, 30))
        // No document: not a conflict.
        .replace(&changed(7, 70))
        .replace_one(|o| o.id().eq(4) & o.total().eq(99), &changed(4, 40))
        // No document with this total: not a conflict.
        .replace_one(|o| o.id().eq(4) & o.total().eq(1), &changed(4, 40))
        .insert(&order(6))
        .save(&changed(5, 50))
        // Changes what a comparison with the replacements reads.
        .update_many(|o| o.id().gte(3), |o| o.total().inc(1000))
        .await
        .unwrap_err();
    assert_eq!(conflicts(lost), [(1, 2), (4, 4)]);
    let mut totals = Vec::new();
    for id in 1..=6 {
        totals.push(stored(&orders, id).await.0);
    }
    assert_eq!(totals, [11, 99, 1030, 1099, 1050, 1010]);
    // Without conflicts the counts are those of all writes.
    let current = Order {
        lock_version: 1,
        ..order(2)
    };
    let result = orders
        .bulk()
        .insert(&order(8))
        .update_by_id(1, |o| o.total().inc(1))
        .replace(&current)
        .update_by_id(1, |o| o.total().inc(1))
        .save(&order(9))
        .delete_by_id(8)
        .await
        .unwrap();
    assert_eq!((result.inserted_count, result.matched_count), (1, 3));
    assert_eq!((result.modified_count, result.deleted_count), (3, 1));
    assert_eq!(result.inserted_ids.keys().collect::<Vec<_>>(), [&0]);
    assert_eq!(result.upserted_ids.keys().collect::<Vec<_>>(), [&4]);
    env.stop().await;
}

#[tokio::test]
async fn replacements_of_one_document_in_one_bulk_write_are_distinguished() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many([order(1), order(2)]).await.unwrap();
    orders.replace(&changed(2, 99)).await.unwrap();
    let next = Order {
        lock_version: 1,
        ..changed(1, 12)
    };
    let lost = orders
        .bulk()
        .replace(&changed(1, 11))
        .replace(&next)
        // The version before both.
        .replace(&changed(1, 13))
        .replace(&changed(2, 20))
        .await
        .unwrap_err();
    assert_eq!(conflicts(lost), [(2, 1), (3, 2)]);
    assert_eq!(stored(&orders, 1).await, (12, 2));
    env.stop().await;
}

#[tokio::test]
async fn a_rejected_write_and_conflicts_are_in_one_error() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many([order(1), order(2)]).await.unwrap();
    orders.replace(&changed(1, 99)).await.unwrap();
    for ordered in [true, false] {
        let failed = orders
            .bulk()
            .replace(&changed(1, 10))
            .insert(&order(2))
            .update_by_id(2, |o| o.total().inc(1))
            .ordered(ordered)
            .await
            .unwrap_err();
        let Error::BulkWrite { failed, source, .. } = &failed else {
            panic!("another error: {failed}");
        };
        assert!(source.is_some());
        let kinds: Vec<(usize, bool)> = failed
            .iter()
            .map(|write| (write.operation.index, write.is_version_conflict()))
            .collect();
        assert_eq!(kinds, [(0, true), (1, false)], "{ordered}");
        assert_eq!(failed[1].error().map(|error| error.index), Some(1));
    }
    // The update followed only without order.
    assert_eq!(stored(&orders, 2).await.0, 11);
    env.stop().await;
}

#[tokio::test]
async fn a_bulk_write_of_several_models_names_the_replacements_that_lost_a_race() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    let orders = env.db.collection::<Order>();
    orders.insert_many((1..=3).map(order)).await.unwrap();
    orders.replace(&changed(2, 99)).await.unwrap();
    let lost = env
        .client()
        .bulk()
        .on(&orders, |b| b.replace(&changed(1, 10)).replace(&changed(2, 20)))
        .on(&orders, |b| {
            b.replace(&changed(7, 70)).update_by_id(3, |o| o.total().inc(1))
        })
        .await
        .unwrap_err();
    assert_eq!(conflicts(lost), [(1, 2)]);
    assert_eq!(stored(&orders, 3).await.0, 11);
    let result = env
        .client()
        .bulk()
        .on(&orders, |b| b.replace(&changed(3, 30)))
        .await;
    // The update has incremented the version.
    assert_eq!(conflicts(result.unwrap_err()), [(0, 3)]);
    let current = Order {
        lock_version: 1,
        ..changed(3, 30)
    };
    let result = env
        .client()
        .bulk()
        .on(&orders, |b| b.replace(&current))
        .await
        .unwrap();
    assert_eq!(result.matched_count, 1);
    assert!(result.verbose_results.is_none());
    let current = Order {
        lock_version: 2,
        ..changed(3, 30)
    };
    let bulk = env.client().bulk().on(&orders, |b| b.replace(&current));
    let result = bulk.verbose_results(true).await.unwrap();
    assert!(result.verbose_results.is_some());
    env.stop().await;
}

/// In a transaction the reads see its writes.
#[tokio::test]
async fn conflicts_are_found_in_a_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = env.db.collection::<Order>();
    orders.insert_many([order(1), order(2)]).await.unwrap();
    orders.replace(&changed(1, 99)).await.unwrap();
    let mut session = env.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let bulk = orders.bulk().replace(&changed(1, 10)).replace(&changed(2, 20));
    let lost = bulk.session(&mut session).await.unwrap_err();
    assert_eq!(conflicts(lost), [(0, 1)]);
    session.abort_transaction().await.unwrap();
    assert_eq!(stored(&orders, 2).await.0, 10);
    env.stop().await;
}

#[tokio::test]
async fn unacknowledged_replacements_are_not_checked() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    orders.replace(&changed(1, 99)).await.unwrap();
    let bulk = orders.bulk().replace(&changed(1, 10));
    let result = bulk.write_concern(WriteConcern::nodes(0)).await.unwrap();
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
        .update_by_id(2, |o| o.total().set(11))
        .await
        .unwrap();
    assert_eq!(
        (stored(&orders, 1).await, stored(&orders, 2).await),
        ((2, 5), (11, 2))
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "pages")]
struct Page {
    _id: i64,
    title: String,
    #[document(version)]
    v: i64,
    #[document(created_at)]
    created: DateTime,
    #[document(updated_at)]
    updated: DateTime,
}

#[tokio::test]
async fn an_upsert_that_only_inserts_changes_no_stored_document() {
    let env = Env::start().await;
    let pages = env.db.collection::<Page>();
    let old = DateTime::from_millis(1);
    let page = |id: i64| Page {
        _id: id,
        title: "new".to_owned(),
        v: 0,
        created: old,
        updated: old,
    };
    let raw = pages.driver().clone_with_type::<BsonDocument>();
    let before = doc! { "_id": 1_i64, "title": "old", "v": 3_i64, "created": old, "updated": old };
    raw.insert_one(&before).await.unwrap();
    let mut read = pages.find_by_id(1).required().await.unwrap();
    for is_new in [false, true] {
        // A stored document, or four new ones.
        let id = |n: i64| if is_new { n } else { 1 };
        let title = |p: Fields<Page>| p.title().set_on_insert("new");
        let updated = pages.update_by_id(id(2), title).upsert(true).await.unwrap();
        assert_eq!(
            (updated.modified_count, updated.upserted_id.is_some()),
            (0, is_new)
        );
        let nothing = |_: Fields<Page>| Update::empty();
        let inserting = pages.upsert_with(|p| p._id().eq(id(3)), nothing, &page(3));
        let inserted = inserting.await.unwrap();
        assert_eq!(
            (inserted.modified_count, inserted.upserted_id.is_some()),
            (0, is_new)
        );
        let changed = pages
            .find_one_and_update(|p| p._id().eq(id(4)), title)
            .upsert(true);
        assert_eq!(changed.await.unwrap().is_none(), is_new);
        let bulk = pages
            .bulk()
            .upsert_one(|p| p._id().eq(id(5)), title)
            .await
            .unwrap();
        assert_eq!(
            (bulk.modified_count, bulk.upserted_ids.len()),
            (0, usize::from(is_new))
        );
    }
    // Without an upsert nothing is changed either.
    pages
        .update_by_id(1, |p| p.title().set_on_insert("new"))
        .await
        .unwrap();
    assert_eq!(
        raw.find_one(doc! { "_id": 1_i64 }).await.unwrap().unwrap(),
        before
    );
    read.title = "mine".to_owned();
    pages.save(&mut read).await.unwrap();
    assert_eq!(read.v, 4);
    let inserted = pages.find(|p| p._id().ne(1)).await.unwrap();
    assert_eq!(inserted.len(), 4);
    for page in inserted {
        assert_eq!((page.title.as_str(), page.v), ("new", 1), "{page:?}");
        assert!(page.created > old && page.updated > old, "{page:?}");
    }
    env.stop().await;
}

#[tokio::test]
async fn an_empty_update_changes_nothing_if_it_is_allowed() {
    let env = Env::start().await;
    let pages = env.db.collection::<Page>();
    let old = DateTime::from_millis(1);
    let raw = pages.driver().clone_with_type::<BsonDocument>();
    let before = doc! { "_id": 1_i64, "title": "old", "v": 3_i64, "created": old, "updated": old };
    raw.insert_one(&before).await.unwrap();
    let patch = |p: Fields<Page>| (None::<&str>.map(|title| p.title().set(title)),);
    let by_id = |id: i64| move |p: Fields<Page>| p._id().eq(id);
    let one = |id: i64| pages.update_one(by_id(id), patch).allow_empty();
    assert_eq!(one(1).required().await.unwrap().matched_count, 1);
    assert!(matches!(one(2).required().await, Err(Error::NotFound { .. })));
    let many = pages.update_many(by_id(1), patch).allow_empty().await.unwrap();
    assert_eq!((many.matched_count, many.modified_count), (1, 0));
    let changed = || pages.find_one_and_update(by_id(1), patch);
    let found = changed().allow_empty().returning_new().required().await.unwrap();
    assert_eq!((found.v, found.updated), (3, old));
    let missing = pages.find_one_and_update(by_id(2), patch).allow_empty();
    assert!(missing.await.unwrap().is_none());
    assert_eq!(
        raw.find_one(doc! { "_id": 1_i64 }).await.unwrap().unwrap(),
        before
    );
    // An update that changes something is made.
    let set = pages.update_one(by_id(1), |p| p.title().set("new")).allow_empty();
    assert_eq!(set.await.unwrap().modified_count, 1);
    // Upserts, and calls that do not allow it.
    let refused = [
        (
            one(1).upsert(true).await.map(drop),
            "an upsert by an empty update",
        ),
        (
            changed().allow_empty().upsert(true).await.map(drop),
            "an upsert by an empty update",
        ),
        (changed().await.map(drop), "allow_empty"),
        (pages.update_many(by_id(1), patch).await.map(drop), "allow_empty"),
    ];
    for (refused, text) in refused {
        match refused {
            Err(Error::InvalidUpdate { reason, .. }) => assert!(reason.contains(text), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
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
        #[serde(default)]
        n: i64,
    }
    let orders = env.db.collection::<Lenient>();
    let raw = env.db.driver().collection::<BsonDocument>("orders");
    raw.insert_one(&doc! { "_id": 1 }).await.unwrap();
    orders.update_by_id(1, |o| o.n().set(1)).await.unwrap();
    let mut read = orders.find_by_id(1).required().await.unwrap();
    assert_eq!(read.v, 1);
    orders.save(&mut read).await.unwrap();
    assert_eq!(read.v, 2);
    let largest = Lenient {
        _id: 2,
        v: i64::MAX,
        n: 0,
    };
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
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
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
async fn pipelines_that_can_remove_the_version_are_rejected() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let before = stored(&orders, 1).await;
    for (stage, reason) in [
        (
            doc! { "$replaceWith": { "_id": "$_id", "total": 11 } },
            "the stage `$replaceWith`",
        ),
        (
            doc! { "$replaceRoot": { "newRoot": { "_id": "$_id", "total": 12 } } },
            "the stage `$replaceRoot`",
        ),
        (doc! { "$project": { "total": 1 } }, "the stage `$project`"),
        (doc! { "$future": { "total": 1 } }, "the stage `$future`"),
        (doc! { "$unset": { "lockVersion": 1 } }, "the stage `$unset`"),
        (doc! { "$set": { "lockVersion": 40 } }, "`lockVersion`"),
        (doc! { "$addFields": { "lockVersion.x": 40 } }, "`lockVersion`"),
        (doc! { "$unset": ["total", "lockVersion"] }, "`lockVersion`"),
        (doc! { "$unset": "_id" }, "`_id`"),
    ] {
        let update = || marula::Update::<Order>::pipeline([doc! { "$set": { "total": 1 } }, stage.clone()]);
        for error in [
            orders.update_by_id(1, |_| update()).await.unwrap_err(),
            orders.update_all(|_| update()).await.unwrap_err(),
            orders
                .find_one_and_update(|o| o.id().eq(1), |_| update())
                .await
                .unwrap_err(),
            orders.bulk().update_by_id(1, |_| update()).await.unwrap_err(),
        ] {
            let text = format!("{error:#}");
            assert!(text.contains("invalid update") && text.contains(reason), "{text}");
        }
    }
    assert_eq!(stored(&orders, 1).await, before);
    let stages = [doc! { "$set": { "total": 14 } }, doc! { "$unset": "other" }];
    let update = marula::Update::<Order>::pipeline(stages);
    orders.update_by_id(1, |_| update).required().await.unwrap();
    assert_eq!(stored(&orders, 1).await, (14, before.1 + 1));
    env.stop().await;
}
