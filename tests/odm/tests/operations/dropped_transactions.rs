//! Handles whose transaction is dropped, calls that are not polled, and upgrades of documents in transactions.

use std::future::IntoFuture;
use std::pin::pin;
use std::task::{Context, Waker};

use crate::common::Env;
use marula::bson;
use marula::{Document, Error, prelude::*};

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "tasks")]
struct Task {
    _id: i64,
}

/// The abort runs in the background. A call that is made meanwhile would be lost with it.
#[tokio::test]
async fn calls_of_a_handle_fail_as_soon_as_the_transaction_is_dropped() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let tasks = env.db.collection::<Task>();
    tasks.insert_one(&Task { _id: 0 }).await.unwrap();
    for id in 1..=20 {
        let tx = env.client().start_transaction().await.unwrap();
        let bound = tx.bind(&tasks);
        bound.insert_one(&Task { _id: id }).await.unwrap();
        drop(tx);
        for error in [
            bound.insert_one(&Task { _id: -id }).await.unwrap_err(),
            bound.find_by_id(0).await.unwrap_err(),
        ] {
            assert!(matches!(&error, Error::Driver(_)), "{error:?}");
            assert!(error.to_string().contains("bound"), "{error}");
        }
        assert!(!bound.transaction().expect("a bound handle").is_in_progress());
    }
    assert_eq!(tasks.find_all().await.unwrap(), [Task { _id: 0 }]);
    env.stop().await;
}

/// The server runs one command of a transaction at a time: the second call waits for the first one, and is not polled again.
#[tokio::test]
async fn a_call_that_is_not_polled_does_not_hold_up_the_others() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let tasks = env.db.collection::<Task>();
    tasks.insert_one(&Task { _id: 0 }).await.unwrap();
    let mut tx = env.client().start_transaction().await.unwrap();
    let bound = tx.bind(&tasks);
    bound.find_by_id(0).await.unwrap();
    let first = bound.find_by_id(0).into_future();
    let mut waiting = pin!(bound.find_by_id(0).into_future());
    let mut first = pin!(first);
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    first.await.unwrap();
    bound.insert_one(&Task { _id: 1 }).await.unwrap();
    waiting.await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(tasks.find_all().await.unwrap().len(), 2);
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "pages", schema_version(2, upgrade = upgrade))]
struct Page {
    _id: i64,
    title: String,
    size: i64,
}

fn upgrade(_: u32, document: &mut bson::Document) -> Result<(), &'static str> {
    document.insert("title", "upgraded");
    Ok(())
}

/// The upgrade reads whether the collection has a collation, which is outside of the transaction on purpose.
#[tokio::test]
async fn older_documents_are_upgraded_in_a_strict_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let pages = env.db.collection::<Page>();
    let raw = pages.driver().clone_with_type::<bson::Document>();
    for id in [1_i64, 2] {
        raw.insert_one(&bson::doc! { "_id": id, "size": 1_i64 })
            .await
            .unwrap();
    }
    env.client()
        .transaction()
        .strict()
        .run(async |tx| {
            pages
                .update_by_id(1, |p| p.size().inc(1))
                .session(tx)
                .required()
                .await?;
            tx.bind(&pages)
                .update_by_id(2, |p| p.size().inc(1))
                .required()
                .await
        })
        .await
        .unwrap();
    for id in [1, 2] {
        let page = pages.find_by_id(id).required().await.unwrap();
        assert_eq!((page.title.as_str(), page.size), ("upgraded", 2));
    }
    let tx = env.client().start_transaction().await.unwrap();
    let migrated = tx.bind(&pages).migrate().await.unwrap_err();
    assert!(
        migrated.to_string().contains("bound to a transaction"),
        "{migrated}"
    );
    tx.abort().await.unwrap();
    env.stop().await;
}
