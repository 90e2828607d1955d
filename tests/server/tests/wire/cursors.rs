//! The end of cursors, and exhaust cursors.

use crate::client::{Client, EXHAUST_ALLOWED, MORE_TO_COME, code, on, replica_set, standalone};
use bson::{Bson, Document, doc};
use marula_test_server::{TestServer, ViolationKind};

/// The `_id`s of a batch, and the cursor ID.
fn batch(reply: &Document) -> (Vec<i32>, i64) {
    let cursor = reply.get_document("cursor").unwrap_or_else(|_| panic!("{reply}"));
    let rows = cursor
        .get_array("firstBatch")
        .or_else(|_| cursor.get_array("nextBatch"))
        .unwrap();
    let ids = rows
        .iter()
        .filter_map(|row| row.as_document().unwrap().get_i32("_id").ok())
        .collect();
    (ids, cursor.get_i64("id").unwrap())
}

async fn filled(client: &mut Client, name: &str, count: i32) {
    let documents: Vec<Bson> = (1..=count).map(|id| doc! {"_id": id, "x": -id}.into()).collect();
    client
        .run(on("db", doc! {"insert": name, "documents": documents}))
        .await;
}

async fn get_more(client: &mut Client, id: i64, size: i32) -> Document {
    client
        .run(on(
            "db",
            doc! {"getMore": id, "collection": "c", "batchSize": size},
        ))
        .await
}

#[tokio::test]
async fn a_full_batch_leaves_the_cursor_open() {
    let (_server, mut client) = standalone().await;
    filled(&mut client, "c", 4).await;
    for body in [
        doc! {"find": "c", "batchSize": 2},
        doc! {"find": "c", "batchSize": 2, "sort": {"_id": 1}},
        doc! {"find": "c", "batchSize": 2, "limit": 5},
        doc! {"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 2}},
        doc! {"aggregate": "c", "pipeline": [{"$addFields": {"y": 1}}], "cursor": {"batchSize": 2}},
    ] {
        let (ids, id) = batch(&client.run(on("db", body.clone())).await);
        assert_eq!(ids, [1, 2], "{body}");
        assert_ne!(id, 0);
        assert_eq!(
            batch(&get_more(&mut client, id, 2).await),
            (vec![3, 4], id),
            "{body}"
        );
        assert_eq!(batch(&get_more(&mut client, id, 2).await), (vec![], 0), "{body}");
        assert_eq!(code(&get_more(&mut client, id, 2).await), 43);
    }
    // A batch that is not full ends the cursor.
    let (_, id) = batch(&client.run(on("db", doc! {"find": "c", "batchSize": 3})).await);
    assert_eq!(batch(&get_more(&mut client, id, 2).await), (vec![4], 0));
    let first = client.run(on("db", doc! {"find": "c", "batchSize": 5})).await;
    assert_eq!(batch(&first).1, 0);
}

#[tokio::test]
async fn queries_with_a_known_end_close_the_cursor_with_the_last_document() {
    let (_server, mut client) = standalone().await;
    filled(&mut client, "c", 2).await;
    let index = doc! {"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1", "unique": true}]};
    client.run(on("db", index)).await;
    for body in [
        doc! {"find": "c", "batchSize": 2, "limit": 2},
        doc! {"find": "c", "batchSize": 2, "sort": {"y": 1}},
        doc! {"find": "c", "batchSize": 2, "singleBatch": true},
        doc! {"find": "c", "batchSize": 1, "filter": {"_id": 1}},
        doc! {"find": "c", "batchSize": 1, "filter": {"_id": {"$eq": 1}}},
        doc! {"find": "c", "batchSize": 1, "filter": {"x": -1}},
        doc! {"find": "missing", "batchSize": 0},
        doc! {"listIndexes": "c", "cursor": {"batchSize": 2}},
    ] {
        assert_eq!(batch(&client.run(on("db", body.clone())).await).1, 0, "{body}");
    }
    for body in [
        doc! {"find": "c", "batchSize": 1, "filter": {"_id": {"$in": [1]}}},
        doc! {"find": "c", "batchSize": 2, "sort": {"x": -1}},
        doc! {"aggregate": "c", "pipeline": [{"$sort": {"y": 1}}, {"$limit": 2}], "cursor": {"batchSize": 2}},
    ] {
        assert_ne!(batch(&client.run(on("db", body.clone())).await).1, 0, "{body}");
    }
    let sorted =
        doc! {"aggregate": "c", "pipeline": [{"$sort": {"x": 1, "y": 1}}], "cursor": {"batchSize": 1}};
    let (_, id) = batch(&client.run(on("db", sorted)).await);
    assert_eq!(batch(&get_more(&mut client, id, 1).await), (vec![1], 0));
}

#[tokio::test]
async fn dropping_a_collection_or_index_ends_its_cursors() {
    let (_server, mut client) = standalone().await;
    filled(&mut client, "c", 4).await;
    let index = doc! {"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]};
    client.run(on("db", index)).await;
    let (_, by_index) = batch(
        &client
            .run(on("db", doc! {"find": "c", "batchSize": 2, "hint": "x_1"}))
            .await,
    );
    let (_, plain) = batch(&client.run(on("db", doc! {"find": "c", "batchSize": 2})).await);
    client
        .run(on("db", doc! {"dropIndexes": "c", "index": "x_1"}))
        .await;
    let killed = get_more(&mut client, by_index, 2).await;
    assert_eq!(
        (code(&killed), killed.get_str("codeName").unwrap()),
        (175, "QueryPlanKilled")
    );
    assert_eq!(code(&get_more(&mut client, by_index, 2).await), 43);
    let aggregate = doc! {"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 2}};
    let (_, query) = batch(&client.run(on("db", aggregate)).await);
    client.run(on("db", doc! {"drop": "c"})).await;
    filled(&mut client, "c", 4).await;
    assert_eq!(code(&get_more(&mut client, plain, 2).await), 175);
    assert_eq!(code(&get_more(&mut client, query, 2).await), 175);
    let (_, id) = batch(&client.run(on("db", doc! {"find": "c", "batchSize": 2})).await);
    client.run(on("db", doc! {"dropDatabase": 1})).await;
    assert_eq!(code(&get_more(&mut client, id, 2).await), 175);
}

#[tokio::test]
async fn tailable_cursors_apply_skip_and_limit() {
    let (_server, mut client) = standalone().await;
    client
        .run(on("db", doc! {"create": "c", "capped": true, "size": 4096}))
        .await;
    filled(&mut client, "c", 3).await;
    let find = doc! {"find": "c", "tailable": true, "skip": 1, "limit": 3, "batchSize": 1};
    let (ids, id) = batch(&client.run(on("db", find)).await);
    assert_eq!(ids, [2]);
    assert_eq!(batch(&get_more(&mut client, id, 9).await), (vec![3], id));
    let more: Vec<Bson> = (4..6).map(|id| doc! {"_id": id}.into()).collect();
    client
        .run(on("db", doc! {"insert": "c", "documents": more}))
        .await;
    assert_eq!(batch(&get_more(&mut client, id, 9).await), (vec![4], id));
    assert_eq!(batch(&get_more(&mut client, id, 9).await), (vec![], id));
}

#[tokio::test]
async fn get_more_with_exhaust_allowed_is_streamed() {
    let (_server, mut client) = standalone().await;
    filled(&mut client, "c", 4).await;
    let (_, id) = batch(&client.run(on("db", doc! {"find": "c", "batchSize": 2})).await);
    let body = on("db", doc! {"getMore": id, "collection": "c", "batchSize": 1});
    let mut previous = client.send(EXHAUST_ALLOWED, &body).await;
    for (ids, open) in [(vec![3], true), (vec![4], true), (vec![], false)] {
        let reply = client.receive().await.unwrap();
        assert_eq!(reply.response_to, previous);
        assert_eq!(reply.flags & MORE_TO_COME != 0, open);
        assert_eq!(batch(&reply.body), (ids, if open { id } else { 0 }));
        previous = reply.id;
    }
    // An error ends the stream.
    client.send(EXHAUST_ALLOWED, &body).await;
    let reply = client.receive().await.unwrap();
    assert_eq!((code(&reply.body), reply.flags & MORE_TO_COME), (43, 0));
}

#[tokio::test]
async fn a_mongos_does_not_stream_get_more() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    filled(&mut client, "c", 4).await;
    let (_, id) = batch(&client.run(on("db", doc! {"find": "c", "batchSize": 2})).await);
    let body = on("db", doc! {"getMore": id, "collection": "c", "batchSize": 1});
    client.send(EXHAUST_ALLOWED, &body).await;
    assert_eq!(client.receive().await.unwrap().flags & MORE_TO_COME, 0);
    assert_eq!(batch(&get_more(&mut client, id, 1).await), (vec![4], id));
}

#[tokio::test]
async fn a_cursor_belongs_to_its_session() {
    let server = replica_set().await;
    let mut client = Client::connect(server.primary().unwrap()).await;
    filled(&mut client, "c", 4).await;
    let (first, second) = (doc! {"id": bson::Uuid::new()}, doc! {"id": bson::Uuid::new()});
    let within = |mut body: Document, session: Option<&Document>| {
        if let Some(session) = session {
            body.insert("lsid", session.clone());
        }
        on("db", body)
    };
    for (opened, asked, expected) in [
        (Some(&first), Some(&second), 50738),
        (Some(&first), None, 50737),
        (None, Some(&first), 50736),
        (Some(&first), Some(&first), 0),
        (None, None, 0),
    ] {
        let find = within(doc! {"find": "c", "batchSize": 2}, opened);
        let (_, id) = batch(&client.run(find).await);
        let more = within(doc! {"getMore": id, "collection": "c"}, asked);
        let reply = client.run(more).await;
        assert_eq!(code(&reply), expected);
        let kinds: Vec<ViolationKind> = server.take_violations().iter().map(|v| v.kind).collect();
        let wanted: &[ViolationKind] = match expected {
            0 => &[],
            _ => &[ViolationKind::CursorSession],
        };
        assert_eq!(kinds, wanted);
    }
    // MongoDB closes a cursor in any session.
    for (opened, asked, expected) in [
        (Some(&first), Some(&second), 1),
        (None, Some(&first), 1),
        (Some(&first), Some(&first), 0),
        (Some(&first), None, 0),
        (None, None, 0),
    ] {
        let find = within(doc! {"find": "c", "batchSize": 2}, opened);
        let (_, id) = batch(&client.run(find).await);
        let kill = within(doc! {"killCursors": "c", "cursors": [id]}, asked);
        let reply = client.run(kill).await;
        assert_eq!(reply.get_array("cursorsKilled").unwrap().len(), 1);
        let violations = server.take_violations();
        assert_eq!(violations.len(), expected, "{violations:?}");
        assert!(
            violations
                .iter()
                .all(|found| found.kind == ViolationKind::CursorSession)
        );
    }
    // A cursor of a transaction cannot be read outside of it.
    let mut find = within(doc! {"find": "c", "batchSize": 2}, Some(&first));
    find.extend(doc! {"txnNumber": 1_i64, "startTransaction": true, "autocommit": false});
    let (_, id) = batch(&client.run(find).await);
    let more = within(doc! {"getMore": id, "collection": "c"}, Some(&first));
    assert_eq!(code(&client.run(more).await), 50740);
    assert_eq!(server.take_violations().len(), 1);
}
