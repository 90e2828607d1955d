//! The definitions of collections and indexes: changed by `collMod`, and listed as they were sent.

use crate::client::{Client, code, on};
use bson::{Bson, DateTime, Document, doc};
use marula_test_server::TestServer;

async fn start(version: &str) -> (TestServer, Client) {
    let server = TestServer::builder().version(version).start().await.unwrap();
    let client = Client::connect(server.addresses()[0]).await;
    (server, client)
}

/// Runs commands that succeed.
async fn run(client: &mut Client, commands: impl IntoIterator<Item = Document>) {
    for command in commands {
        let reply = client.run(on("db", command.clone())).await;
        assert_eq!(code(&reply), 0, "{command}: {reply}");
        assert!(!reply.contains_key("writeErrors"), "{command}: {reply}");
    }
}

async fn batch(client: &mut Client, command: Document) -> Vec<Document> {
    let reply = client.run(on("db", command)).await;
    let rows = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    rows.iter()
        .map(|row| row.as_document().unwrap().clone())
        .collect()
}

async fn options(client: &mut Client) -> Document {
    let listed = batch(client, doc! { "listCollections": 1 }).await;
    listed[0].get_document("options").unwrap().clone()
}

#[tokio::test]
async fn the_limits_of_a_capped_collection_are_changed() {
    let (_server, mut client) = start("8.2").await;
    let insert = |id: i32| doc! { "insert": "c", "documents": [{ "_id": id, "text": "x".repeat(100) }] };
    run(
        &mut client,
        [doc! { "create": "c", "capped": true, "size": 100_000 }],
    )
    .await;
    for id in 0..10 {
        run(&mut client, [insert(id)]).await;
    }
    run(&mut client, [doc! { "collMod": "c", "cappedMax": 5 }]).await;
    // Documents beyond the limit are removed by the next insert.
    assert_eq!(batch(&mut client, doc! { "find": "c" }).await.len(), 10);
    run(&mut client, [insert(10)]).await;
    assert_eq!(batch(&mut client, doc! { "find": "c" }).await.len(), 5);
    run(
        &mut client,
        [doc! { "collMod": "c", "cappedSize": 300, "cappedMax": 0 }],
    )
    .await;
    run(&mut client, [insert(11)]).await;
    let left = batch(&mut client, doc! { "find": "c" }).await;
    assert_eq!(left.len(), 2);
    let expected = doc! { "capped": true, "size": 300_i64 };
    assert_eq!(options(&mut client).await, expected);
    run(&mut client, [doc! { "collMod": "c", "cappedSize": 100_000 }]).await;
    run(&mut client, (20..26).map(insert)).await;
    assert_eq!(batch(&mut client, doc! { "find": "c" }).await.len(), 8);
}

#[tokio::test]
async fn the_size_of_a_capped_collection_is_rounded_before_7() {
    for (version, size) in [("6.0", 512_i64), ("7.0", 300)] {
        let (_server, mut client) = start(version).await;
        run(&mut client, [doc! { "create": "c", "capped": true, "size": 300 }]).await;
        assert_eq!(options(&mut client).await.get_i64("size").unwrap(), size);
    }
}

#[tokio::test]
async fn the_granularity_of_a_time_series_becomes_coarser() {
    let (_server, mut client) = start("7.0").await;
    let series = doc! { "timeField": "t", "metaField": "m" };
    run(&mut client, [doc! { "create": "c", "timeseries": series }]).await;
    let spans = |options: Document| {
        let series = options.get_document("timeseries").unwrap().clone();
        (
            series.get_str("granularity").ok().map(str::to_owned),
            series.get_i32("bucketMaxSpanSeconds").unwrap(),
        )
    };
    assert_eq!(spans(options(&mut client).await), (Some("seconds".into()), 3600));
    let modify = |change: Document| doc! { "collMod": "c", "timeseries": change };
    run(
        &mut client,
        [modify(doc! {}), modify(doc! { "granularity": "minutes" })],
    )
    .await;
    assert_eq!(
        spans(options(&mut client).await),
        (Some("minutes".into()), 86_400)
    );
    let custom = |span: i32| modify(doc! { "bucketMaxSpanSeconds": span, "bucketRoundingSeconds": span });
    run(&mut client, [custom(100_000)]).await;
    assert_eq!(spans(options(&mut client).await), (None, 100_000));
    for refused in [custom(60), modify(doc! { "bucketMaxSpanSeconds": 200_000 })] {
        assert_eq!(code(&client.run(on("db", refused)).await), 72);
    }
    let document = doc! { "t": DateTime::from_millis(0), "m": 1 };
    run(&mut client, [doc! { "insert": "c", "documents": [document] }]).await;
    run(
        &mut client,
        [doc! { "update": "c", "updates": [{ "q": { "m": 1 }, "u": { "$set": { "m": 2 } }, "multi": true }] }],
    )
    .await;
}

#[tokio::test]
async fn options_of_indexes_are_listed_as_they_were_sent() {
    for (version, converted) in [("4.2", false), ("4.4", false), ("5.0", true), ("8.2", true)] {
        let (_server, mut client) = start(version).await;
        let spec = doc! {
            "key": { "a": 1.0 }, "name": "i", "unique": 1, "sparse": 1, "background": 0, "expireAfterSeconds": 60.0,
        };
        run(&mut client, [doc! { "createIndexes": "c", "indexes": [spec] }]).await;
        let listed = batch(&mut client, doc! { "listIndexes": "c" }).await;
        let expected = if converted {
            doc! { "unique": true, "sparse": true, "background": false, "expireAfterSeconds": 60 }
        } else {
            doc! { "unique": true, "sparse": 1, "background": 0, "expireAfterSeconds": 60.0 }
        };
        for (name, value) in expected {
            assert_eq!(listed[1].get(&name), Some(&value), "{name} on {version}");
        }
        assert_eq!(listed[1].get_document("key").unwrap(), &doc! { "a": 1.0 });
    }
    let (_server, mut client) = start("8.2").await;
    let options = doc! { "hidden": false, "prepareUnique": false, "unique": false, "sparse": false };
    let mut spec = doc! { "key": { "a": 1 }, "name": "i" };
    spec.extend(options);
    run(
        &mut client,
        [doc! { "createIndexes": "c", "indexes": [spec.clone()] }],
    )
    .await;
    let listed = batch(&mut client, doc! { "listIndexes": "c" }).await;
    let expected = doc! { "v": 2, "key": { "a": 1 }, "name": "i", "sparse": false };
    assert_eq!(listed[1], expected);
    let reply = client
        .run(on("db", doc! { "createIndexes": "c", "indexes": [spec] }))
        .await;
    assert_eq!(reply.get_str("note").unwrap(), "all indexes already exist");
}

#[tokio::test]
async fn a_failed_coll_mod_changes_nothing() {
    let (_server, mut client) = start("8.2").await;
    run(
        &mut client,
        [
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i" }] },
            doc! { "insert": "c", "documents": [{ "a": 1 }, { "a": 1 }] },
            doc! { "collMod": "c", "index": { "name": "i", "prepareUnique": true } },
        ],
    )
    .await;
    let failing = doc! { "collMod": "c", "validator": { "b": 1 }, "index": { "name": "i", "hidden": true, "unique": true } };
    let reply = client.run(on("db", failing)).await;
    assert_eq!(code(&reply), 359, "{reply}");
    assert_eq!(reply.get_array("violations").map(Vec::len).unwrap_or_default(), 1);
    let listed = batch(&mut client, doc! { "listIndexes": "c" }).await;
    assert_eq!(listed[1].get("hidden"), None);
    assert_eq!(listed[1].get("prepareUnique"), Some(&Bson::Boolean(true)));
    assert!(!options(&mut client).await.contains_key("validator"));
}

#[tokio::test]
async fn unknown_options_of_indexes_can_be_ignored() {
    let (_server, mut client) = start("8.2").await;
    let spec = doc! { "key": { "a": 1 }, "name": "i", "unknown": 1 };
    let create = doc! { "createIndexes": "c", "indexes": [spec, { "key": { "a": 1 }, "name": "i" }, { "key": { "b": 1 }, "name": "j" }], "ignoreUnknownIndexOptions": true };
    let reply = client.run(on("db", create)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    assert_eq!(reply.get_i32("numIndexesAfter").unwrap(), 3);
    assert_eq!(reply.get_str("note").unwrap(), "index already exists");
}

#[tokio::test]
async fn a_unique_index_is_converted_back() {
    let (_server, mut client) = start("8.2").await;
    let unique = doc! { "key": { "a": 1 }, "name": "i", "unique": true };
    let modify = || doc! { "collMod": "c", "index": { "name": "i", "forceNonUnique": true } };
    run(&mut client, [doc! { "createIndexes": "c", "indexes": [unique] }]).await;
    let reply = client.run(on("db", modify())).await;
    assert!(reply.get_bool("forceNonUnique_new").unwrap(), "{reply}");
    let listed = batch(&mut client, doc! { "listIndexes": "c" }).await;
    assert_eq!(listed[1].get("unique"), None);
    run(
        &mut client,
        [doc! { "insert": "c", "documents": [{ "a": 1 }, { "a": 1 }] }],
    )
    .await;
    let reply = client.run(on("db", modify())).await;
    assert_eq!(code(&reply), 0, "{reply}");
    assert!(!reply.contains_key("forceNonUnique_new"), "{reply}");
}

#[tokio::test]
async fn reindex_replies_with_the_indexes() {
    let (_server, mut client) = start("8.2").await;
    let index = doc! { "key": { "a": 1 }, "name": "i" };
    run(&mut client, [doc! { "createIndexes": "c", "indexes": [index] }]).await;
    let reply = client.run(on("db", doc! { "reIndex": "c" })).await;
    assert_eq!(reply.get_i64("nIndexesWas").unwrap(), 2, "{reply}");
    assert_eq!(reply.get_i32("nIndexes").unwrap(), 2);
    assert_eq!(reply.get_array("indexes").unwrap().len(), 2);
}

#[tokio::test]
async fn time_series_with_a_meta_field_have_an_index_since_6_3() {
    for (version, expected) in [("6.0", vec![]), ("6.3", vec!["m_1_t_1"])] {
        let (_server, mut client) = start(version).await;
        let series = |name: &str, fields: Document| doc! { "create": name, "timeseries": fields };
        run(
            &mut client,
            [
                series("c", doc! { "timeField": "t", "metaField": "m" }),
                series("d", doc! { "timeField": "t" }),
            ],
        )
        .await;
        let listed = batch(&mut client, doc! { "listIndexes": "c" }).await;
        let names: Vec<&str> = listed
            .iter()
            .map(|index| index.get_str("name").unwrap())
            .collect();
        assert_eq!(names, expected, "{version}");
        for index in listed {
            assert_eq!(index.get_document("key").unwrap(), &doc! { "m": 1, "t": 1 });
        }
        let without = batch(&mut client, doc! { "listIndexes": "d" }).await;
        assert_eq!(without, [], "{version}");
        let again = doc! { "key": { "m": 1, "t": 1 }, "name": "m_1_t_1" };
        run(&mut client, [doc! { "createIndexes": "c", "indexes": [again] }]).await;
        let listed = batch(&mut client, doc! { "listIndexes": "c" }).await;
        assert_eq!(listed.len(), 1, "{version}: {listed:?}");
        run(&mut client, [doc! { "dropIndexes": "c", "index": "m_1_t_1" }]).await;
    }
}

#[tokio::test]
async fn documents_of_a_collection_expire() {
    let (server, mut client) = start("8.2").await;
    let old = DateTime::from_millis(0);
    let new = DateTime::now();
    let clustered = doc! { "key": { "_id": 1 }, "unique": true };
    run(
        &mut client,
        [
            doc! { "create": "ts", "timeseries": { "timeField": "t" }, "expireAfterSeconds": 60 },
            doc! { "insert": "ts", "documents": [{ "t": old }, { "t": new }] },
            doc! { "create": "cl", "clusteredIndex": clustered, "expireAfterSeconds": 60 },
            doc! { "insert": "cl", "documents": [{ "_id": old }, { "_id": new }, { "_id": 1 }] },
        ],
    )
    .await;
    assert_eq!(server.run_ttl_monitor(), 2);
    for (name, left) in [("ts", 1), ("cl", 2)] {
        assert_eq!(
            batch(&mut client, doc! { "find": name }).await.len(),
            left,
            "{name}"
        );
    }
    run(
        &mut client,
        [
            doc! { "collMod": "cl", "expireAfterSeconds": "off" },
            doc! { "insert": "cl", "documents": [{ "_id": old }] },
        ],
    )
    .await;
    assert_eq!(server.run_ttl_monitor(), 0);
}

#[tokio::test]
async fn a_collection_is_converted_to_a_capped_one() {
    let server = TestServer::builder().replica_set().start().await.unwrap();
    let mut client = Client::connect(server.primary().unwrap()).await;
    let document = |id: i32| doc! { "_id": id, "a": "x".repeat(400) };
    run(
        &mut client,
        [
            doc! { "create": "c", "validator": { "_id": { "$gte": 0 } } },
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i" }] },
            doc! { "insert": "c", "documents": (0..4).map(document).collect::<Vec<_>>() },
        ],
    )
    .await;
    let uuid = |listed: &[Document]| listed[0].get_document("info").unwrap().get("uuid").cloned();
    let before = uuid(&batch(&mut client, doc! { "listCollections": 1 }).await);
    let watch = doc! { "aggregate": "c", "pipeline": [{ "$changeStream": {} }], "cursor": {} };
    let opened = client.run(on("db", watch)).await;
    let cursor = opened.get_document("cursor").unwrap().get_i64("id").unwrap();
    run(&mut client, [doc! { "convertToCapped": "c", "size": 1024 }]).await;
    let more = doc! { "getMore": cursor, "collection": "c" };
    let reply = client.run(on("db", more)).await;
    let events = reply
        .get_document("cursor")
        .unwrap()
        .get_array("nextBatch")
        .unwrap();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event.as_document().unwrap().get_str("operationType").unwrap())
        .collect();
    assert_eq!(kinds, ["rename", "invalidate"], "{reply}");
    let listed = batch(&mut client, doc! { "listCollections": 1 }).await;
    assert_ne!(uuid(&listed), before);
    let options = options(&mut client).await;
    assert_eq!(options.get_bool("capped").ok(), Some(true));
    assert!(options.contains_key("validator"));
    let left = batch(&mut client, doc! { "find": "c" }).await;
    let ids: Vec<i32> = left.iter().map(|row| row.get_i32("_id").unwrap()).collect();
    assert_eq!(ids, [2, 3]);
    assert_eq!(batch(&mut client, doc! { "listIndexes": "c" }).await.len(), 1);
    run(&mut client, [doc! { "insert": "c", "documents": [document(4)] }]).await;
    assert_eq!(batch(&mut client, doc! { "find": "c" }).await.len(), 2);
}
