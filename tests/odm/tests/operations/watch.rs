//! Change streams with typed documents and typed filters.

use std::time::Duration;

use crate::common::{Env, Order, order};
use marula::bson::doc;
use marula::driver::options::FullDocument;
use marula::driver::{ChangeOperation, ChangeStreamEvent};
use marula::expr::gt;
use marula::prelude::*;
use marula::{Collection, Error, Filter};

/// A collection that exists, so that the stream begins before the first change.
async fn orders(env: &Env) -> Collection<Order> {
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(100)).await.expect("an insert");
    orders
}

fn number(event: Option<ChangeStreamEvent<Order>>) -> Option<i64> {
    event?.full_document.map(|o| o.number)
}

#[tokio::test]
async fn events_contain_typed_documents() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = orders(&env).await;
    let mut events = orders
        .watch()
        .full_document(FullDocument::UpdateLookup)
        .await
        .unwrap();
    let order = order(1);
    orders.insert_one(&order).await.unwrap();
    orders
        .update_by_id(order.id, |o| o.note().set("x"))
        .await
        .unwrap();
    orders.delete_by_id(order.id).await.unwrap();
    let inserted = events.try_next().await.unwrap().unwrap();
    assert_eq!(inserted.operation, ChangeOperation::Insert);
    assert_eq!(inserted.full_document, Some(order.clone()));
    let updated = events.try_next().await.unwrap().unwrap();
    assert_eq!(updated.operation, ChangeOperation::Update);
    let fields = updated.update_description.unwrap().updated_fields;
    assert_eq!(fields, doc! { "note": "x" });
    let deleted = events.try_next().await.unwrap().unwrap();
    assert_eq!(deleted.operation, ChangeOperation::Delete);
    assert_eq!(deleted.full_document, None);
    assert!(deleted.document_key.unwrap().contains_key("_id"));
    assert!(events.is_alive());
    events.close().await;
    env.stop().await;
}

#[tokio::test]
async fn a_filter_applies_to_the_full_document() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = orders(&env).await;
    let mut events = orders
        .watch()
        .filter(|o| (o.number().gt(2) | o.note().eq("x")) & o.lines().elem_match(|l| l.qty().gte(2)))
        .filter(|o| o.number().lt(5))
        .await
        .unwrap();
    let mut inserts = orders
        .watch()
        .operations([ChangeOperation::Insert])
        .raw_pipeline([doc! { "$match": { "fullDocument.number": 5 } }])
        .await
        .unwrap();
    for n in 1..=5 {
        orders.insert_one(&order(n)).await.unwrap();
    }
    orders.delete_many(|o| o.number().eq(1)).await.unwrap();
    orders
        .insert_one(&Order {
            note: Some("x".to_owned()),
            ..order(-1)
        })
        .await
        .unwrap();
    assert_eq!(number(events.try_next().await.unwrap()), Some(3));
    assert_eq!(number(events.try_next().await.unwrap()), Some(4));
    assert_eq!(number(events.try_next().await.unwrap()), Some(-1));
    assert_eq!(number(inserts.try_next().await.unwrap()), Some(5));
    env.stop().await;
}

#[tokio::test]
async fn a_document_that_cannot_be_decoded_does_not_end_the_stream() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = orders(&env).await;
    let mut events = orders.watch().await.unwrap();
    let raw = env.db.driver().collection::<marula::bson::Document>("orders");
    raw.insert_one(&doc! { "_id": 7, "number": "seven" })
        .await
        .unwrap();
    orders.insert_one(&order(2)).await.unwrap();
    let invalid = events.try_next().await.unwrap_err();
    let Error::Decode { collection, id, .. } = &invalid else {
        panic!("{invalid}");
    };
    assert_eq!(collection, &orders.namespace().to_string());
    assert_eq!(id.as_deref(), Some(&marula::bson::Bson::Int32(7)));
    assert!(events.is_alive());
    let token = events.resume_token().unwrap();
    assert_eq!(number(events.try_next().await.unwrap()), Some(2));
    // The token is that of the invalid document, so that it is not read again.
    let mut resumed = orders.watch().resume_after(token).await.unwrap();
    assert_eq!(number(resumed.try_next().await.unwrap()), Some(2));
    env.stop().await;
}

#[tokio::test]
async fn next_if_any_returns_without_an_event() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = orders(&env).await;
    let mut events = orders
        .watch()
        .max_await_time(Duration::from_millis(1))
        .await
        .unwrap();
    assert!(events.next_if_any().await.unwrap().is_none());
    orders.insert_one(&order(1)).await.unwrap();
    let mut found = None;
    while found.is_none() {
        found = events.next_if_any().await.unwrap();
    }
    assert_eq!(number(found), Some(1));
    env.stop().await;
}

#[tokio::test]
async fn filters_that_cannot_be_applied_to_events_are_refused() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = orders(&env).await;
    let expression = || Filter::expr(gt(Order::fields().number(), 1));
    for filter in [expression(), expression() & Order::fields().number().gt(1)] {
        let refused = orders.watch().filter(|_| filter).await.unwrap_err();
        assert!(matches!(&refused, Error::InvalidFilter { .. }), "{refused}");
        assert!(refused.to_string().contains("$expr"), "{refused}");
    }
    env.stop().await;
}
