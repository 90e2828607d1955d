//! `bulkWrite`, views, the Stable API, `mapReduce`, unacknowledged writes, older servers, and
//! commands that are rejected.

use crate::client::{Client, MORE_TO_COME, code, on, replica_set, standalone};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;

/// Runs a command that must succeed, and returns the reply.
async fn ok(client: &mut Client, body: Document) -> Document {
    let reply = client.run(on("db", body)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    reply
}

fn first_batch(reply: &Document) -> &Vec<Bson> {
    reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap()
}

#[tokio::test]
async fn bulk_write_reports_every_operation() {
    let (_server, mut client) = standalone().await;
    let ops = vec![
        doc! {"insert": 0, "document": {"_id": 1, "x": 1}},
        doc! {"insert": 1, "document": {"_id": 1}},
        doc! {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"x": 1}}},
        doc! {"update": 0, "filter": {"_id": 9}, "updateMods": {"$set": {"x": 1}}, "upsert": true},
        doc! {"insert": 0, "document": {"_id": 1}},
        doc! {"delete": 1, "filter": {}, "multi": true},
    ];
    let ns_info = vec![doc! {"ns": "db.a"}, doc! {"ns": "db.b"}];
    let body = doc! {"bulkWrite": 1, "ops": ops.clone(), "nsInfo": ns_info.clone(), "ordered": false};
    let reply = client.run(on("admin", body)).await;
    let counts = [
        "nErrors",
        "nInserted",
        "nMatched",
        "nModified",
        "nUpserted",
        "nDeleted",
    ];
    assert_eq!(
        counts.map(|name| reply.get_i32(name).unwrap()),
        [1, 2, 1, 1, 1, 1]
    );
    let results = first_batch(&reply);
    assert_eq!(results.len(), 6);
    let result = |index: usize| results[index].as_document().unwrap();
    assert_eq!(result(3).get_document("upserted").unwrap(), &doc! {"_id": 9});
    assert_eq!(result(4).get_i32("code").unwrap(), 11000);
    assert!(result(4).contains_key("keyValue"));
    // An ordered bulk write stops at the error; `errorsOnly` returns only that result.
    let body = doc! {"bulkWrite": 1, "ops": ops[..2].to_vec(), "nsInfo": ns_info, "errorsOnly": true};
    let reply = client.run(on("admin", body)).await;
    assert_eq!(first_batch(&reply).len(), 1);
    assert_eq!(reply.get_i32("nInserted").unwrap(), 0);
    // The index of a namespace that `nsInfo` does not have.
    let invalid = doc! {"bulkWrite": 1, "ops": [{"insert": 3, "document": {}}], "nsInfo": [{"ns": "db.a"}]};
    assert_eq!(code(&client.run(on("admin", invalid)).await), 2);
}

#[tokio::test]
async fn views_return_the_result_of_their_pipeline() {
    let (_server, mut client) = standalone().await;
    ok(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 1, "x": 1}, {"_id": 2, "x": 2}]},
    )
    .await;
    ok(
        &mut client,
        doc! {"create": "v", "viewOn": "c", "pipeline": [{"$match": {"x": 2}}]},
    )
    .await;
    ok(
        &mut client,
        doc! {"create": "w", "viewOn": "v", "pipeline": [{"$addFields": {"y": 1}}]},
    )
    .await;
    let reply = ok(&mut client, doc! {"find": "w"}).await;
    assert_eq!(
        first_batch(&reply),
        &vec![Bson::Document(doc! {"_id": 2, "x": 2, "y": 1})]
    );
    let reply = ok(&mut client, doc! {"count": "v"}).await;
    assert_eq!(reply.get_i32("n").unwrap(), 1);
    let reply = ok(
        &mut client,
        doc! {"aggregate": "v", "pipeline": [{"$count": "n"}], "cursor": {}},
    )
    .await;
    assert_eq!(first_batch(&reply), &vec![Bson::Document(doc! {"n": 1})]);
    let listed = ok(
        &mut client,
        doc! {"listCollections": 1, "filter": {"type": "view"}},
    )
    .await;
    assert_eq!(first_batch(&listed).len(), 2);
    for write in [
        doc! {"insert": "v", "documents": [{}]},
        doc! {"findAndModify": "v", "query": {}, "remove": true},
    ] {
        assert_eq!(code(&client.run(on("db", write)).await), 166);
    }
    let writing = doc! {"create": "u", "viewOn": "c", "pipeline": [{"$out": "x"}]};
    assert_eq!(code(&client.run(on("db", writing)).await), 167);
}

#[tokio::test]
async fn stable_api_violations_are_rejected() {
    let server = TestServer::builder()
        .parameter("acceptApiVersion2", true)
        .start()
        .await
        .unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    for (expected, body) in [
        (0, doc! {"ping": 1, "apiVersion": "1", "apiStrict": true}),
        (322, doc! {"ping": 1, "apiVersion": "3"}),
        (4_886_600, doc! {"ping": 1, "apiStrict": true}),
        (
            323,
            doc! {"testVersion2": 1, "apiVersion": "1", "apiStrict": true},
        ),
        (0, doc! {"testVersion2": 1, "apiVersion": "2", "apiStrict": true}),
        (
            324,
            doc! {"testDeprecationInVersion2": 1, "apiVersion": "2", "apiDeprecationErrors": true},
        ),
        (
            0,
            doc! {"testDeprecationInVersion2": 1, "apiVersion": "1", "apiDeprecationErrors": true},
        ),
        (
            323,
            doc! {"distinct": "c", "key": "a", "apiVersion": "1", "apiStrict": true},
        ),
        (
            323,
            doc! {"aggregate": 1, "pipeline": [{"$listLocalSessions": {}}], "cursor": {}, "apiVersion": "1", "apiStrict": true},
        ),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
}

#[tokio::test]
async fn invalid_commands_fail_with_the_servers_codes() {
    let (_server, mut client) = standalone().await;
    for (expected, body) in [
        (31082, doc! {"createSearchIndexes": "c", "indexes": []}),
        (31082, doc! {"dropSearchIndex": "c"}),
        (
            31082,
            doc! {"aggregate": "c", "pipeline": [{"$listSearchIndexes": {}}], "cursor": {}},
        ),
        (18, doc! {"authenticate": 1, "mechanism": "MONGODB-X509"}),
        (18, doc! {"saslStart": 1, "mechanism": "PLAIN", "payload": "x"}),
        (17, doc! {"saslContinue": 1, "conversationId": 0, "payload": "x"}),
        (14, doc! {"createUser": "u", "pwd": {}, "roles": []}),
        (59, doc! {"getnonce": 1}),
        (59, doc! {"shardCollection": "db.c", "key": {"_id": 1}}),
        (
            20,
            doc! {"commitTransaction": 1, "lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64, "autocommit": false},
        ),
        (
            40324,
            doc! {"update": "c", "updates": [{"q": {}, "u": [{"$none": 1}]}]},
        ),
    ] {
        let shown = body.to_string();
        let db = if body.contains_key("commitTransaction") || body.contains_key("shardCollection") {
            "admin"
        } else {
            "db"
        };
        assert_eq!(code(&client.run(on(db, body)).await), expected, "{shown}");
    }
}

#[tokio::test]
async fn map_reduce_and_where_support_the_functions_of_the_specifications() {
    let (_server, mut client) = standalone().await;
    ok(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 1, "x": 1}, {"_id": 2, "x": 2}]},
    )
    .await;
    let code_of = |text: &str| Bson::JavaScriptCode(text.to_owned());
    let body = doc! {
        "mapReduce": "c",
        "map": code_of("function inc() { return emit(0, this.x + 1) }"),
        "reduce": code_of("function sum(key, values) { return values.reduce((acc, x) => acc + x); }"),
        "out": {"inline": 1},
    };
    let reply = ok(&mut client, body).await;
    assert_eq!(
        reply.get_array("results").unwrap(),
        &vec![Bson::Document(doc! {"_id": 0.0, "value": 5.0})]
    );
    let reply = ok(
        &mut client,
        doc! {"find": "c", "filter": {"$where": "sleep(1) || true"}},
    )
    .await;
    assert_eq!(first_batch(&reply).len(), 2);
    let other = doc! {"find": "c", "filter": {"$where": "this.x > 1"}};
    assert_eq!(code(&client.run(on("db", other)).await), 238);
}

#[tokio::test]
async fn unacknowledged_writes_get_no_reply() {
    let (_server, mut client) = standalone().await;
    let body = on(
        "db",
        doc! {"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 0}},
    );
    client.send(MORE_TO_COME, &body).await;
    let reply = ok(&mut client, doc! {"count": "c"}).await;
    assert_eq!(reply.get_i32("n").unwrap(), 1);
}

#[tokio::test]
async fn older_servers_add_no_error_labels() {
    for (version, labeled) in [("4.2", false), ("4.4", true)] {
        let server = TestServer::builder()
            .replica_set()
            .version(version)
            .start()
            .await
            .unwrap();
        let mut client = Client::connect(server.primary().unwrap()).await;
        let point = doc! {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": ["insert"], "errorCode": 91}};
        client.run(on("admin", point)).await;
        let mut insert = on("db", doc! {"insert": "c", "documents": [{"_id": 1}]});
        insert.extend(doc! {"lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64});
        let reply = client.run(insert).await;
        assert_eq!(code(&reply), 91);
        assert_eq!(reply.contains_key("errorLabels"), labeled, "{version}");
    }
}

#[tokio::test]
async fn older_servers_reject_newer_options() {
    let old = TestServer::builder().version("4.2").start().await.unwrap();
    let mut client = Client::connect(old.addresses()[0]).await;
    ok(&mut client, doc! {"insert": "c", "documents": [{"_id": 1}]}).await;
    for (expected, body) in [
        (9, doc! {"find": "c", "let": {}}),
        (9, doc! {"find": "c", "allowDiskUse": true}),
        (
            9,
            doc! {"aggregate": "c", "pipeline": [], "cursor": {}, "let": {}},
        ),
        (
            40415,
            doc! {"delete": "c", "deletes": [{"q": {}, "limit": 1}], "let": {}},
        ),
        (40415, doc! {"insert": "c", "documents": [{}], "comment": "x"}),
        (
            14,
            doc! {"aggregate": "c", "pipeline": [], "cursor": {}, "comment": {}},
        ),
        (0, doc! {"find": "c", "comment": "x"}),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
    let replace = doc! {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"a": {"$b": 1}}}]};
    let reply = client.run(on("db", replace)).await;
    let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap();
    assert_eq!(error.get_i32("code").unwrap(), 52);
}

#[tokio::test]
async fn fail_points_match_the_app_name_of_a_handshake() {
    let server = replica_set().await;
    let mut setup = Client::connect(server.primary().unwrap()).await;
    let point = doc! {
        "configureFailPoint": "failCommand",
        "mode": "alwaysOn",
        "data": {"failCommands": ["hello", "isMaster"], "appName": "failing", "errorCode": 91},
    };
    setup.run(on("admin", point)).await;
    let hello = |name: &str| {
        on(
            "admin",
            doc! {"hello": 1, "client": {"application": {"name": name}, "driver": {"name": "d", "version": "1"}, "os": {"type": "Linux"}}},
        )
    };
    let mut failing = Client::connect(server.primary().unwrap()).await;
    let reply = failing.run(hello("failing")).await;
    assert_eq!(code(&reply), 91);
    assert!(
        !reply.contains_key("topologyVersion"),
        "a state change error of a fail point has no topologyVersion"
    );
    let mut other = Client::connect(server.primary().unwrap()).await;
    assert_eq!(code(&other.run(hello("other")).await), 0);
}
