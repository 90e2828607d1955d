//! `explain` of typed calls.

use std::sync::{Arc, Mutex};

use crate::common::{Env, Order, Status, order};
use marula::bson::{Bson, DateTime, Document, doc};
use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::{ClientOptions, ExplainVerbosity};
use marula::prelude::*;
use marula::{Error, Filter};
use serde::{Deserialize, Serialize};

fn is_explained(reply: &Document) -> bool {
    // A mongos answers with the plans of the shards.
    ["queryPlanner", "stages", "shards"]
        .iter()
        .any(|part| reply.contains_key(part))
}

#[tokio::test]
async fn typed_calls_are_explained_and_not_run() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many([order(1), order(2)]).await.unwrap();
    let query = orders
        .find(|o| o.number().gte(2))
        .sort(|o| o.number().desc())
        .limit(1);
    let reply = query
        .explain()
        .unwrap()
        .verbosity(ExplainVerbosity::ExecutionStats)
        .await
        .unwrap();
    let returned = reply
        .get_document("executionStats")
        .unwrap()
        .get("nReturned")
        .and_then(Bson::as_i32);
    assert_eq!(returned, Some(1), "{reply}");
    let replies = [
        orders
            .find_one(|o| o.number().eq(1))
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .count(|o| o.number().gte(1))
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .distinct(|o| o.number(), |_| Filter::everything())
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .update_one(|o| o.number().eq(1), |o| o.status().set(Status::Paid))
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .aggregate()
            .match_(|o| o.number().gte(1))
            .explain()
            .unwrap()
            .await
            .unwrap(),
    ];
    assert!(replies.iter().all(is_explained), "{replies:?}");
    let paid = orders.count(|o| o.status().eq(Status::Paid)).await.unwrap();
    assert_eq!(paid, 0);
    let invalid = orders
        .update_many(|_| Filter::all([]), |o| o.number().inc(1))
        .explain();
    assert!(matches!(invalid, Err(Error::InvalidFilter { .. })));
    env.stop().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, marula::Document)]
#[document(collection = "pages", soft_delete = deleted_at)]
struct Page {
    _id: i64,
    #[document(version)]
    version: i64,
    deleted_at: Option<DateTime>,
}

fn page(version: i64) -> Page {
    Page {
        _id: 1,
        version,
        deleted_at: None,
    }
}

#[tokio::test]
async fn writes_and_find_and_modify_are_explained_and_not_run() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let first = order(1);
    orders.insert_many([first.clone(), order(2)]).await.unwrap();
    let changed = Order {
        number: 7,
        ..first.clone()
    };
    let pages = env.db.collection::<Page>();
    let next = page(3);
    pages.insert_one(&next).await.unwrap();
    let explained = [
        orders.delete_one(|o| o.number().eq(1)).explain(),
        orders.delete_many(|o| o.number().gte(1)).explain(),
        orders.delete_by_id(first.id).explain(),
        orders.replace(&changed).explain(),
        orders
            .replace_one(|o| o.number().eq(1), &changed)
            .upsert(true)
            .explain(),
        orders.exists(|o| o.number().eq(1)).explain(),
        orders.estimated_count().explain(),
        orders
            .find_one_and_update(|o| o.number().eq(1), |o| o.number().inc(1))
            .explain(),
        orders
            .find_one_and_replace(|o| o.number().eq(1), &changed)
            .explain(),
        orders.find_one_and_delete(|o| o.number().eq(1)).explain(),
        // Soft deletions, which are updates, and replacements with a version.
        pages.delete_one(|p| p._id().eq(1)).explain(),
        pages.delete_many(|p| p._id().eq(1)).explain(),
        pages.find_one_and_delete(|p| p._id().eq(1)).explain(),
        pages.replace(&next).explain(),
        pages.find_one_and_replace(|p| p._id().eq(1), &next).explain(),
    ];
    for (at, action) in explained.into_iter().enumerate() {
        let reply = action.unwrap().await.unwrap_or_else(|e| panic!("{at}: {e}"));
        assert!(is_explained(&reply), "{at}: {reply}");
    }
    assert_eq!(orders.find_by_id(first.id).await.unwrap(), Some(first));
    assert_eq!(orders.estimated_count().await.unwrap(), 2);
    assert_eq!(pages.find_by_id(1).await.unwrap(), Some(page(3)));
    env.stop().await;
}

/// The explained command is the one that would run: with the scope, the version and the projection.
#[tokio::test]
async fn the_explained_command_is_that_of_the_call() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let commands = Arc::new(Mutex::new(Vec::new()));
    let mut options = ClientOptions::parse(&env.uri()).expect("a valid connection string");
    let sent = Arc::clone(&commands);
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        if let CommandEvent::Started(started) = event
            && let Ok(explained) = started.command.get_document("explain")
            && let Ok(explained) = Document::try_from(explained)
        {
            sent.lock().expect("no panic").push(explained);
        }
    }));
    let client = marula::Client::with_options(options).expect("a client");
    let pages = client.database(env.db.name()).collection::<Page>();
    let next = page(3);
    let calls = [
        pages.exists(|p| p._id().eq(1)).explain(),
        pages.delete_one(|p| p._id().eq(1)).explain(),
        pages.replace(&next).explain(),
        pages.find_one_and_replace(|p| p._id().eq(1), &next).explain(),
        pages.delete_permanently(|p| p._id().eq(1)).explain(),
    ];
    for call in calls {
        call.unwrap().await.unwrap();
    }
    let all = commands.lock().expect("no panic").clone();
    let [exists, delete, replace, modify, remove] = &all[..] else {
        panic!("five commands: {all:?}");
    };
    let scoped = doc! { "_id": { "$eq": 1_i64 }, "deleted_at": { "$eq": null } };
    let versioned = |id: Bson| {
        let version = doc! { "$eq": 3_i64 };
        doc! { "_id": id, "deleted_at": { "$eq": null }, "version": version }
    };
    let statement = |command: &Document, name: &str| {
        let statements = command.get_array(name).expect("an array");
        statements[0].as_document().expect("a document").clone()
    };
    assert_eq!(exists.get_document("projection").unwrap(), &doc! { "_id": 1 });
    assert_eq!(exists.get_document("filter").unwrap(), &scoped);
    let delete = statement(delete, "updates");
    assert_eq!(delete.get_document("q").unwrap(), &scoped);
    assert!(delete.get_document("u").unwrap().contains_key("$set"), "{delete}");
    let replace = statement(replace, "updates");
    assert_eq!(replace.get_document("q").unwrap(), &versioned(Bson::Int64(1)));
    assert_eq!(replace.get_document("u").unwrap().get_i64("version").unwrap(), 4);
    let by_filter = versioned(doc! { "$eq": 1_i64 }.into());
    assert_eq!(modify.get_document("query").unwrap(), &by_filter);
    assert_eq!(statement(remove, "deletes").get_document("q").unwrap(), &scoped);
    client.shutdown().await;
    env.stop().await;
}

#[tokio::test]
async fn invalid_calls_are_not_explained() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let first = order(1);
    let all = [
        orders.delete_many(|_| Filter::all([])).explain(),
        orders.replace_one(|_| Filter::all([]), &first).explain(),
        orders.find_one_and_delete(|_| Filter::all([])).explain(),
        orders.find_one_and_replace(|_| Filter::all([]), &first).explain(),
    ];
    for explained in all {
        assert!(matches!(explained, Err(Error::InvalidFilter { .. })));
    }
    env.stop().await;
}
