//! Spans of typed calls.

use marula::expr::expr;
use marula::prelude::*;
use marula::{Filter, Shape};
use serde::{Deserialize, Serialize};

use crate::models::{Account, SECRET, account, accounts};
use crate::recorded_spans::Spans;

#[tokio::test]
async fn a_call_has_a_span_with_the_shape_of_its_query() {
    let (server, client, accounts) = accounts().await;
    let (spans, guard) = Spans::listen();
    accounts.insert_one(&account(1)).await.unwrap();
    let insert = spans.last("insert_one");
    assert_eq!(insert.metadata, "marula::call DEBUG call");
    assert_eq!(insert.fields["model"], "Account");
    assert_eq!(insert.fields["collection"], "observed.accounts");
    assert_eq!(insert.fields["otel.name"], "insert_one Account");
    assert!(!insert.fields.contains_key("query") && !insert.fields.contains_key("error"));
    assert_eq!(
        insert.messages,
        ["Command started: insert", "Command succeeded: insert"]
    );

    let query = |filter: Filter<Account>| {
        let (accounts, spans) = (accounts.clone(), spans.clone());
        async move {
            drop(accounts.find(|_| filter).all().await.unwrap());
            spans.last("find").fields["query"].clone()
        }
    };
    let a = Account::fields();
    let by_password = a.password().eq(SECRET) & a._id().gt(3);
    assert_eq!(query(by_password).await, "{password: {$eq: ?}, _id: {$gt: ?}}");
    let either = a._id().is_in([1, 2]) | !a.password().starts_with(SECRET);
    assert_eq!(
        query(either).await,
        "{$or: [{_id: {$in: ?}}, {$nor: [{password: {$regex: ?}}]}]}"
    );
    let of_device = a.devices().elem_match(|d| d.token().eq(SECRET) & d.uses().lt(9));
    assert_eq!(
        query(of_device).await,
        "{devices: {$elemMatch: {token: {$eq: ?}, uses: {$lt: ?}}}}"
    );
    assert_eq!(query(Filter::everything()).await, "{}");

    accounts
        .update_one(
            |a| a._id().eq(1),
            |a| {
                (
                    a.password().set(SECRET),
                    a.devices().all_positional().uses().inc(1),
                )
            },
        )
        .await
        .unwrap();
    let update = spans.last("update_one");
    assert_eq!(update.fields["query"], "{_id: {$eq: ?}}");
    assert_eq!(
        update.fields["update"],
        "{$set: {password: ?}, $inc: {devices.$[].uses: ?}}"
    );
    let found = accounts.find_one_and_update(|a| a._id().eq(7), |a| a.password().set(SECRET));
    assert!(found.await.unwrap().is_none());
    assert_eq!(
        spans.last("find_one_and_update").fields["update"],
        "{$set: {password: ?}}"
    );
    assert_eq!(accounts.count(|a| a._id().lt(5)).await.unwrap(), 1);
    assert_eq!(accounts.delete_one(|a| a.password().eq("x")).await.unwrap(), 0);
    assert_eq!(spans.last("delete_one").fields["query"], "{password: {$eq: ?}}");

    for call in spans.calls() {
        let text = format!("{call:?}");
        assert!(!text.contains(SECRET), "{text}");
        assert_eq!(call.messages.len(), 2, "{text}");
    }
    drop(guard);
    client.shutdown().await;
    drop(server);
}

#[tokio::test]
async fn a_bulk_write_shows_the_names_of_its_writes() {
    let (server, client, accounts) = accounts().await;
    let (spans, guard) = Spans::listen();
    let written = accounts
        .bulk()
        .insert(&account(1))
        .insert(&account(2))
        .delete_one(|a| a.password().eq(SECRET));
    written.await.unwrap();
    assert_eq!(spans.last("bulk").fields["query"], "[insert × 2, delete_one]");
    let by_client = client
        .bulk()
        .on(&accounts, |b| b.insert(&account(3)).delete_by_id(2));
    by_client.await.unwrap();
    assert_eq!(
        spans.last("bulk").fields["query"],
        "[insert Account, delete_by_id Account]"
    );
    let many = (0..50).fold(accounts.bulk(), |bulk, id| match id % 2 {
        0 => bulk.delete_by_id(id),
        _ => bulk.delete_many(|a| a._id().eq(id)),
    });
    many.await.unwrap();
    let shape = spans.last("bulk").fields["query"].clone();
    assert!(shape.ends_with(", delete_many] and 30 more"), "{shape}");
    drop(guard);
    client.shutdown().await;
    drop(server);
}

/// Devices by their number of uses.
#[derive(Debug, Serialize, Deserialize, Shape)]
struct Uses {
    total: i64,
}

#[tokio::test]
async fn a_pipeline_shows_its_stages() {
    let (server, client, accounts) = accounts().await;
    accounts.insert_one(&account(1)).await.unwrap();
    let (spans, guard) = Spans::listen();
    let total = accounts
        .aggregate()
        .match_(|a| a.password().eq(SECRET))
        .unwind(|a| a.devices())
        .project(|_, device| UsesExpr {
            total: expr(device.uses()),
        })
        .all();
    assert_eq!(total.await.unwrap()[0].total, 1);
    let call = spans.last("aggregate");
    assert_eq!(
        call.fields["query"],
        "[$match {password: {$eq: ?}}, $unwind, $project]"
    );
    assert!(!format!("{call:?}").contains(SECRET));
    drop(guard);
    client.shutdown().await;
    drop(server);
}

#[tokio::test]
async fn a_stream_is_read_inside_of_the_span() {
    let (server, client, accounts) = accounts().await;
    let all: Vec<Account> = (0..5).map(account).collect();
    accounts.insert_many(&all).await.unwrap();
    let (spans, guard) = Spans::listen();
    let mut stream = accounts.find_all().batch_size(2).stream().await.unwrap();
    while stream.try_next().await.unwrap().is_some() {}
    drop(stream);
    let calls = spans.calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    let started: Vec<&String> = calls[0]
        .messages
        .iter()
        .filter(|message| message.starts_with("Command started"))
        .collect();
    assert_eq!(
        started,
        [
            "Command started: find",
            "Command started: getMore",
            "Command started: getMore"
        ]
    );
    drop(guard);
    client.shutdown().await;
    drop(server);
}

#[tokio::test]
async fn a_failed_call_names_the_kind_of_its_error() {
    let (server, client, accounts) = accounts().await;
    accounts.insert_one(&account(1)).await.unwrap();
    let (spans, guard) = Spans::listen();
    accounts.insert_one(&account(1)).await.unwrap_err();
    assert_eq!(spans.last("insert_one").fields["error"], "duplicate");
    accounts
        .driver()
        .clone_with_type::<marula::bson::Document>()
        .insert_one(&marula::bson::doc! { "_id": 2, "password": 5 })
        .await
        .unwrap();
    accounts.find_by_id(2).await.unwrap_err();
    let call = spans.last("find_one");
    assert_eq!(
        (call.fields["error"].as_str(), call.fields["query"].as_str()),
        ("decode", "{_id: ?}")
    );
    accounts.delete_many(|_| Filter::all([])).await.unwrap_err();
    assert_eq!(spans.last("delete_many").fields["error"], "invalid_filter");
    drop(guard);
    client.shutdown().await;
    drop(server);
}
