//! System databases, and commands that describe the server.

use crate::client::{Client, code, on, replica_set, standalone};
use bson::{Document, doc};
use marula_test_server::TestServer;

async fn ok(client: &mut Client, db: &str, body: Document) -> Document {
    let reply = client.run(on(db, body)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    reply
}

async fn databases(client: &mut Client) -> Vec<String> {
    let reply = ok(client, "admin", doc! { "listDatabases": 1 }).await;
    let databases = reply.get_array("databases").unwrap().iter();
    databases
        .map(|database| {
            let database = database.as_document().unwrap();
            assert!(database.get_i64("sizeOnDisk").unwrap() > 0);
            database.get_str("name").unwrap().to_owned()
        })
        .collect()
}

async fn rows(client: &mut Client, db: &str, collection: &str) -> Vec<Document> {
    let reply = ok(client, db, doc! { "find": collection }).await;
    let cursor = reply.get_document("cursor").unwrap();
    let rows = cursor.get_array("firstBatch").unwrap().iter();
    rows.map(|row| row.as_document().unwrap().clone()).collect()
}

#[tokio::test]
async fn contents_of_the_system_databases() {
    let (_server, mut client) = standalone().await;
    assert_eq!(databases(&mut client).await, ["admin", "local"]);
    let version = rows(&mut client, "admin", "system.version").await;
    assert_eq!(
        version,
        [doc! { "_id": "featureCompatibilityVersion", "version": "8.2" }]
    );
    assert_eq!(rows(&mut client, "local", "startup_log").await.len(), 1);
    assert!(rows(&mut client, "local", "oplog.rs").await.is_empty());
    let server = replica_set().await;
    let mut client = Client::connect(server.addresses()[0]).await;
    assert_eq!(databases(&mut client).await, ["admin", "config", "local"]);
    for (db, body) in [
        ("local", doc! { "find": "oplog.rs" }),
        ("local", doc! { "find": "oplog.rs", "tailable": true }),
        (
            "local",
            doc! { "aggregate": "oplog.rs", "pipeline": [], "cursor": {} },
        ),
        ("config", doc! { "count": "transactions" }),
        ("config", doc! { "find": "system.sessions" }),
        ("admin", doc! { "find": "system.users" }),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on(db, body)).await), 238, "{shown}");
    }
    let server = TestServer::builder().sharded().start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    assert_eq!(databases(&mut client).await, ["admin", "config"]);
    let listed = ok(&mut client, "admin", doc! { "listShards": 1 }).await;
    let shards = rows(&mut client, "config", "shards").await;
    let listed = listed.get_array("shards").unwrap();
    assert_eq!(listed[0].as_document().unwrap(), &shards[0]);
    assert_eq!(
        code(&client.run(on("config", doc! { "find": "chunks" })).await),
        238
    );
}

#[tokio::test]
async fn transactions_reject_system_collections() {
    let server = replica_set().await;
    let mut client = Client::connect(server.addresses()[0]).await;
    ok(
        &mut client,
        "db",
        doc! { "create": "capped", "capped": true, "size": 4096 },
    )
    .await;
    let session = doc! { "id": bson::Uuid::new() };
    let mut number = 0_i64;
    let mut first = |mut body: Document| {
        number += 1;
        body.extend(doc! { "lsid": session.clone(), "txnNumber": number, "startTransaction": true, "autocommit": false });
        body
    };
    for (db, body) in [
        ("config", first(doc! { "find": "shards" })),
        ("local", first(doc! { "count": "startup_log" })),
        ("local", first(doc! { "insert": "c", "documents": [{}] })),
        ("db", first(doc! { "killCursors": "c", "cursors": [1_i64] })),
        (
            "db",
            first(doc! { "findAndModify": "capped", "remove": true, "query": {} }),
        ),
    ] {
        let shown = body.to_string();
        let reply = client.run(on(db, body)).await;
        assert_eq!(code(&reply), 263, "{shown}: {reply}");
    }
    for write in [
        doc! { "insert": "capped", "documents": [{}] },
        doc! { "update": "capped", "updates": [{ "q": {}, "u": { "$set": { "a": 1 } } }] },
        doc! { "delete": "capped", "deletes": [{ "q": {}, "limit": 1 }] },
    ] {
        let reply = client.run(on("db", first(write))).await;
        assert!(reply.to_string().contains("263"), "{reply}");
    }
    ok(&mut client, "db", doc! { "insert": "capped", "documents": [{}] }).await;
}

#[tokio::test]
async fn commands_describe_the_server() {
    let (_server, mut client) = standalone().await;
    let reply = ok(&mut client, "db", doc! { "listCommands": 1 }).await;
    let commands = reply.get_document("commands").unwrap();
    let find = commands.get_document("find").unwrap();
    assert_eq!(find.get_array("apiVersions").unwrap(), &["1".into()]);
    assert!(commands.contains_key("explain") && !commands.contains_key("listShards"));
    assert_eq!(
        code(&client.run(on("admin", doc! { "getDefaultRWConcern": 1 })).await),
        51300
    );
    let off = ok(&mut client, "db", doc! { "profile": -1 }).await;
    assert_eq!(off.get_i32("was").unwrap(), 0);
    assert_eq!(code(&client.run(on("db", doc! { "profile": 2 })).await), 238);
    let server = replica_set().await;
    let mut client = Client::connect(server.addresses()[0]).await;
    let concerns = ok(&mut client, "admin", doc! { "getDefaultRWConcern": 1 }).await;
    let write = concerns.get_document("defaultWriteConcern").unwrap();
    assert_eq!(write, &doc! { "w": "majority", "wtimeout": 0 });
    assert_eq!(concerns.get_str("defaultReadConcernSource").unwrap(), "implicit");
}
