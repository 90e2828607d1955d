//! Statistics (dbStats, collStats), validation (validate), and operations in progress (currentOp,
//! killOp).

use crate::client::{Client, code, on, standalone};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;

async fn ok_on(client: &mut Client, db: &str, body: Document) -> Document {
    let reply = client.run(on(db, body)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    reply
}

async fn ok(client: &mut Client, body: Document) -> Document {
    ok_on(client, "db", body).await
}

/// A standalone server with ten documents and an index in `db.c`.
async fn filled() -> (TestServer, Client) {
    let (server, mut client) = standalone().await;
    let documents: Vec<Document> = (0..10).map(|n| doc! { "_id": n, "a": [n, n + 1] }).collect();
    ok(&mut client, doc! { "insert": "c", "documents": documents }).await;
    let index = doc! { "key": { "a": 1 }, "name": "a_1" };
    ok(&mut client, doc! { "createIndexes": "c", "indexes": [index] }).await;
    (server, client)
}

#[tokio::test]
async fn db_stats_sums_the_collections() {
    let (_server, mut client) = filled().await;
    ok(&mut client, doc! { "create": "empty" }).await;
    ok(&mut client, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let size = doc! { "_id": 1, "a": [1, 2] }.to_vec().unwrap().len() as f64;
    let stats = ok(&mut client, doc! { "dbStats": 1 }).await;
    assert_eq!(stats.get_str("db").unwrap(), "db");
    let whole = ["collections", "views", "objects", "indexes", "scaleFactor"];
    assert_eq!(whole.map(|name| stats.get_i64(name).unwrap()), [2, 1, 10, 3, 1]);
    let number = |stats: &Document, name: &str| stats.get_f64(name).unwrap();
    assert_eq!(number(&stats, "avgObjSize"), size);
    assert_eq!(number(&stats, "dataSize"), size * 10.0);
    let (storage, indexes) = (number(&stats, "storageSize"), number(&stats, "indexSize"));
    assert!(storage > 0.0 && indexes > 0.0);
    assert_eq!(number(&stats, "totalSize"), storage + indexes);
    assert!(stats.contains_key("fsUsedSize") && stats.contains_key("fsTotalSize"));
    let scaled = ok(&mut client, doc! { "dbstats": 1, "scale": 10 }).await;
    assert_eq!(number(&scaled, "dataSize"), size);
    assert_eq!(number(&scaled, "avgObjSize"), size);
    let none = ok_on(&mut client, "absent", doc! { "dbStats": 1 }).await;
    assert_eq!(none.get_i64("collections").unwrap(), 0);
    assert_eq!(
        code(&client.run(on("db", doc! { "dbStats": 1, "scale": 0 })).await),
        2
    );
}

#[tokio::test]
async fn coll_stats_describes_a_collection_and_its_indexes() {
    let (_server, mut client) = filled().await;
    let size = doc! { "_id": 1, "a": [1, 2] }.to_vec().unwrap().len() as i32;
    let stats = ok(&mut client, doc! { "collStats": "c" }).await;
    assert_eq!(stats.get_str("ns").unwrap(), "db.c");
    let number = |stats: &Document, name: &str| stats.get_i32(name).unwrap();
    let names = [
        "size",
        "count",
        "avgObjSize",
        "nindexes",
        "numOrphanDocs",
        "scaleFactor",
    ];
    assert_eq!(
        names.map(|name| number(&stats, name)),
        [size * 10, 10, size, 2, 0, 1]
    );
    let sizes = stats.get_document("indexSizes").unwrap();
    assert_eq!(sizes.keys().collect::<Vec<_>>(), ["_id_", "a_1"]);
    assert_eq!(
        number(sizes, "_id_") + number(sizes, "a_1"),
        number(&stats, "totalIndexSize")
    );
    assert_eq!(
        number(&stats, "totalSize"),
        number(&stats, "storageSize") + number(&stats, "totalIndexSize")
    );
    assert!(!stats.get_bool("capped").unwrap());
    let scaled = ok(&mut client, doc! { "collStats": "c", "scale": 10 }).await;
    assert_eq!(number(&scaled, "size"), size);
    ok(
        &mut client,
        doc! { "create": "capped", "capped": true, "size": 512, "max": 3 },
    )
    .await;
    let stats = ok(&mut client, doc! { "collStats": "capped" }).await;
    assert!(stats.get_bool("capped").unwrap() && !stats.contains_key("avgObjSize"));
    assert_eq!(["max", "maxSize"].map(|name| number(&stats, name)), [3, 512]);
    let absent = ok(&mut client, doc! { "collStats": "absent" }).await;
    assert_eq!(
        ["size", "count", "nindexes"].map(|name| number(&absent, name)),
        [0, 0, 0]
    );
    ok(&mut client, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    assert_eq!(code(&client.run(on("db", doc! { "collStats": "v" })).await), 166);
    // The `$collStats` stage returns the same values.
    let pipeline = vec![doc! { "$collStats": { "storageStats": { "scale": 10 }, "count": {} } }];
    let reply = ok(
        &mut client,
        doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} },
    )
    .await;
    let rows = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let row = rows[0].as_document().unwrap();
    let stats = row.get_document("storageStats").unwrap();
    assert_eq!(["size", "count"].map(|name| number(stats, name)), [size, 10]);
}

#[tokio::test]
async fn validate_checks_documents_and_keys() {
    let (_server, mut client) = filled().await;
    let reply = ok(&mut client, doc! { "validate": "c", "full": true }).await;
    assert_eq!(reply.get_str("ns").unwrap(), "db.c");
    assert!(reply.get_bool("valid").unwrap());
    assert_eq!(
        ["nrecords", "nIndexes"].map(|name| reply.get_i32(name).unwrap()),
        [10, 2]
    );
    assert_eq!(
        reply.get_document("keysPerIndex").unwrap(),
        &doc! { "_id_": 10, "a_1": 20 }
    );
    let details = reply.get_document("indexDetails").unwrap();
    assert!(details.get_document("a_1").unwrap().get_bool("valid").unwrap());
    for list in [
        "warnings",
        "errors",
        "extraIndexEntries",
        "missingIndexEntries",
        "corruptRecords",
    ] {
        assert!(reply.get_array(list).unwrap().is_empty(), "{list}");
    }
    let validator = doc! { "collMod": "c", "validator": { "_id": { "$gt": 3 } } };
    ok(&mut client, validator).await;
    let reply = ok(&mut client, doc! { "validate": "c" }).await;
    assert_eq!(reply.get_i32("nNonCompliantDocuments").unwrap(), 4);
    assert_eq!(reply.get_array("warnings").unwrap().len(), 1);
    ok(&mut client, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    for (expected, body) in [
        (26, doc! { "validate": "absent" }),
        (166, doc! { "validate": "v" }),
        (72, doc! { "validate": "c", "full": true, "background": true }),
        // An option of old servers that drivers still send. The command ignores unknown fields.
        (0, doc! { "validate": "c", "scandata": true }),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
}

/// The operations listed by currentOp.
async fn in_progress(client: &mut Client, command: Document) -> Vec<Document> {
    let reply = ok_on(client, "admin", command).await;
    let operations = reply.get_array("inprog").unwrap();
    operations
        .iter()
        .map(|operation| operation.as_document().unwrap().clone())
        .collect()
}

#[tokio::test]
async fn waiting_operations_are_listed_and_killed() {
    let (server, mut client) = filled().await;
    let own = in_progress(&mut client, doc! { "currentOp": 1 }).await;
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].get_str("ns").unwrap(), "admin.$cmd");
    assert!(own[0].get_bool("active").unwrap() && own[0].get_i64("secs_running").is_ok());
    let mut other = Client::connect(server.addresses()[0]).await;
    let slow = doc! { "find": "c", "filter": { "$where": "sleep(60000) || true" } };
    other.send(0, &on("db", slow.clone())).await;
    let wanted = doc! { "currentOp": 1, "ns": "db.c", "op": "query", "active": true };
    let found = loop {
        if let [found] = in_progress(&mut client, wanted.clone()).await.as_slice() {
            break found.clone();
        }
    };
    let command = found.get_document("command").unwrap();
    assert_eq!(
        command.get_document("filter").unwrap(),
        slow.get_document("filter").unwrap()
    );
    let opid = found.get_i32("opid").unwrap();
    // The `$currentOp` stage returns the same operations.
    let pipeline = vec![
        doc! { "$currentOp": { "allUsers": true } },
        doc! { "$match": { "opid": opid } },
    ];
    let reply = ok_on(
        &mut client,
        "admin",
        doc! { "aggregate": 1, "pipeline": pipeline, "cursor": {} },
    )
    .await;
    let rows = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(rows.len(), 1);
    let reply = ok_on(&mut client, "admin", doc! { "killOp": 1, "op": opid }).await;
    assert_eq!(reply.get_str("info").unwrap(), "attempting to kill op");
    assert_eq!(code(&other.receive().await.unwrap().body), 11601);
    assert!(in_progress(&mut client, wanted).await.is_empty());
    // Idle connections are listed only on request.
    let idle = in_progress(
        &mut client,
        doc! { "currentOp": 1, "$all": true, "active": false },
    )
    .await;
    assert_eq!(idle.len(), 1);
    for (expected, body) in [
        (40414, doc! { "killOp": 1 }),
        (14, doc! { "killOp": 1, "op": "x" }),
        (
            9,
            doc! { "aggregate": 1, "pipeline": [{ "$currentOp": { "nonsense": true } }], "cursor": {} },
        ),
        (
            238,
            doc! { "aggregate": 1, "pipeline": [{ "$currentOp": { "idleCursors": true } }], "cursor": {} },
        ),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("admin", body)).await), expected, "{shown}");
    }
    let on_other_database = doc! { "aggregate": 1, "pipeline": [{ "$currentOp": {} }], "cursor": {} };
    assert_eq!(code(&client.run(on("db", on_other_database)).await), 73);
    assert_eq!(
        code(&client.run(on("db", doc! { "currentOp": Bson::Int32(1) })).await),
        13
    );
}
