//! Queries: the context in their error messages, positional operators, index restrictions and
//! hints.

use crate::client::{Client, code, on, standalone};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;

async fn with_documents() -> (TestServer, Client) {
    let (server, mut client) = standalone().await;
    run(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 1, "a": [1], "b": [2], "n": 0}]},
        0,
    )
    .await;
    (server, client)
}

async fn run(client: &mut Client, body: Document, expected: i32) -> Document {
    let reply = client.run(on("db", body)).await;
    assert_eq!(code(&reply), expected, "{reply}");
    reply
}

fn message(reply: &Document) -> &str {
    reply.get_str("errmsg").unwrap()
}

fn aggregate(stage: Document) -> Document {
    doc! {"aggregate": "c", "pipeline": [stage], "cursor": {}}
}

#[tokio::test]
async fn error_messages_contain_the_phase() {
    let (_server, mut client) = with_documents().await;
    let divided = |by: Bson| aggregate(doc! {"$project": {"v": {"$divide": [1, by]}}});
    let reply = run(&mut client, divided("$n".into()), 2).await;
    assert_eq!(
        message(&reply),
        "Executor error during aggregate command on namespace: db.c :: caused by :: can't $divide by zero"
    );
    let reply = run(&mut client, divided(0.into()), 2).await;
    assert_eq!(
        message(&reply),
        "Failed to optimize pipeline :: caused by :: can't $divide by zero"
    );
    let reply = run(
        &mut client,
        aggregate(doc! {"$project": {"v": {"$none": 1}}}),
        168,
    )
    .await;
    assert!(!message(&reply).contains("error during"), "{reply}");
    let reply = run(&mut client, doc! {"find": "c", "sort": {"a": 1, "b": 1}}, 2).await;
    assert_eq!(
        message(&reply),
        "Executor error during find command: db.c :: caused by :: cannot sort with keys that are parallel arrays"
    );
    let reply = run(&mut client, aggregate(doc! {"$sort": {"a": 1, "b": 1}}), 2).await;
    assert_eq!(
        message(&reply),
        "Executor error during aggregate command on namespace: db.c :: caused by :: cannot sort with keys that are \
         parallel arrays"
    );
    let reply = run(&mut client, doc! {"find": "c", "filter": {}, "hint": "none"}, 2).await;
    assert!(message(&reply).starts_with("error processing query"), "{reply}");
    // The phase is not added to errors about features that are not implemented.
    let decimal: bson::Decimal128 = "1".parse().unwrap();
    let reply = run(
        &mut client,
        aggregate(doc! {"$project": {"v": {"$exp": decimal}}}),
        238,
    )
    .await;
    assert_eq!(
        message(&reply),
        "$exp of a decimal is not supported by this test server"
    );
}

#[tokio::test]
async fn error_message_prefixes_of_older_servers() {
    let server = TestServer::builder().version("6.0").start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    run(&mut client, doc! {"insert": "c", "documents": [{"n": 0}]}, 0).await;
    let reply = run(
        &mut client,
        aggregate(doc! {"$project": {"v": {"$divide": [1, "$n"]}}}),
        2,
    )
    .await;
    assert_eq!(
        message(&reply),
        "PlanExecutor error during aggregation :: caused by :: can't $divide by zero"
    );
}

#[tokio::test]
async fn positional_updates_require_an_array_match() {
    let (_server, mut client) = with_documents().await;
    let update =
        |filter: Document| doc! {"update": "c", "updates": [{"q": filter, "u": {"$set": {"a.$": 9}}}]};
    let reply = run(&mut client, update(doc! {"a.0": 1}), 0).await;
    let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap();
    assert_eq!(error.get_i32("code").unwrap(), 2);
    let reply = run(&mut client, update(doc! {"a": 1}), 0).await;
    assert_eq!(reply.get_i32("nModified").unwrap(), 1);
}

async fn index(client: &mut Client, mut spec: Document, expected: i32) -> Document {
    spec.insert("name", "i");
    run(client, doc! {"createIndexes": "c", "indexes": [spec]}, expected).await
}

#[tokio::test]
async fn indexes_reject_arrays_and_unknown_options() {
    let (_server, mut client) = with_documents().await;
    index(&mut client, doc! {"key": {"a": "hashed"}}, 16766).await;
    index(&mut client, doc! {"key": {"a": 1, "t": "text"}}, 16675).await;
    index(&mut client, doc! {"key": {"x": 1, "p": "2d"}}, 16801).await;
    index(
        &mut client,
        doc! {"key": {"t": "text"}, "default_language": "spanglish"},
        67,
    )
    .await;
    index(
        &mut client,
        doc! {"key": {"t": "text"}, "default_language": "Spanish"},
        0,
    )
    .await;
    run(&mut client, doc! {"dropIndexes": "c", "index": "i"}, 0).await;
    index(&mut client, doc! {"key": {"h.x": "hashed"}}, 0).await;
    let inserted = run(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 2, "h": [{"x": 1}]}]},
        0,
    )
    .await;
    let error = inserted.get_array("writeErrors").unwrap()[0]
        .as_document()
        .unwrap();
    assert_eq!(error.get_i32("code").unwrap(), 16766);
    run(&mut client, doc! {"dropIndexes": "c", "index": "i"}, 0).await;
    index(
        &mut client,
        doc! {"key": {"x": 1}, "background": true, "dropDups": true},
        0,
    )
    .await;
    let listed = run(&mut client, doc! {"listIndexes": "c"}, 0).await;
    let specs = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(
        specs[1].as_document().unwrap(),
        &doc! {"v": 2, "key": {"x": 1}, "name": "i", "background": true}
    );
}

#[tokio::test]
async fn a_hint_by_key_pattern_must_be_unambiguous() {
    let (_server, mut client) = with_documents().await;
    let specs = vec![
        doc! {"key": {"s": 1}, "name": "plain"},
        doc! {"key": {"s": 1}, "name": "folded", "collation": {"locale": "en"}},
    ];
    run(&mut client, doc! {"createIndexes": "c", "indexes": specs}, 0).await;
    run(&mut client, doc! {"find": "c", "hint": {"s": 1}}, 27).await;
    run(&mut client, doc! {"find": "c", "hint": "folded"}, 0).await;
}

#[tokio::test]
async fn remove_rejects_array_filters() {
    let (_server, mut client) = with_documents().await;
    run(
        &mut client,
        doc! {"findAndModify": "c", "query": {}, "remove": true, "arrayFilters": [{"e": 1}]},
        9,
    )
    .await;
}
