//! Change streams and tailable cursors.

use crate::client::{Client, code, on, replica_set};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;

async fn primary(server: &TestServer) -> Client {
    Client::connect(server.primary().unwrap()).await
}

fn cursor<'d>(reply: &'d Document, batch: &str) -> (i64, &'d Vec<Bson>) {
    let cursor = reply.get_document("cursor").unwrap();
    (cursor.get_i64("id").unwrap(), cursor.get_array(batch).unwrap())
}

async fn watch(client: &mut Client, stage: Document, rest: &[Document]) -> Document {
    let mut pipeline = vec![Bson::Document(doc! {"$changeStream": stage})];
    pipeline.extend(rest.iter().cloned().map(Bson::Document));
    client
        .run(on(
            "db",
            doc! {"aggregate": "c", "pipeline": pipeline, "cursor": {}},
        ))
        .await
}

async fn get_more(client: &mut Client, id: i64) -> Document {
    client
        .run(on("db", doc! {"getMore": id, "collection": "c"}))
        .await
}

async fn write(client: &mut Client, body: Document) {
    assert_eq!(code(&client.run(on("db", body)).await), 0);
}

fn kinds(events: &[Bson]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event.as_document().unwrap().get_str("operationType").unwrap())
        .collect()
}

#[tokio::test]
async fn events_are_ordered_and_streams_resume() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    write(&mut client, doc! {"create": "c"}).await;
    let opened = watch(&mut client, doc! {"fullDocument": "updateLookup"}, &[]).await;
    let (id, first) = cursor(&opened, "firstBatch");
    assert!(first.is_empty());
    assert!(
        opened
            .get_document("cursor")
            .unwrap()
            .contains_key("postBatchResumeToken")
    );
    write(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]},
    )
    .await;
    write(
        &mut client,
        doc! {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"x": 5}}}]},
    )
    .await;
    write(
        &mut client,
        doc! {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"y": 1}}]},
    )
    .await;
    write(
        &mut client,
        doc! {"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]},
    )
    .await;
    let reply = get_more(&mut client, id).await;
    let (_, events) = cursor(&reply, "nextBatch");
    assert_eq!(kinds(events), ["insert", "insert", "update", "replace", "delete"]);
    let update = events[2].as_document().unwrap();
    assert_eq!(
        update.get_document("updateDescription").unwrap(),
        &doc! {"updatedFields": {"x": 5}, "removedFields": [], "truncatedArrays": []}
    );
    assert_eq!(
        update.get_document("fullDocument").unwrap(),
        &doc! {"_id": 1, "y": 1}
    );
    let token = events[2]
        .as_document()
        .unwrap()
        .get_document("_id")
        .unwrap()
        .clone();
    let resumed = watch(&mut client, doc! {"resumeAfter": token}, &[]).await;
    assert_eq!(kinds(cursor(&resumed, "firstBatch").1), ["replace", "delete"]);
    let bad = watch(&mut client, doc! {"resumeAfter": {"_data": "x"}}, &[]).await;
    assert_eq!(code(&bad), 260);
}

#[tokio::test]
async fn dropping_the_collection_invalidates_the_stream() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    write(&mut client, doc! {"create": "c"}).await;
    let opened = watch(&mut client, doc! {}, &[]).await;
    let (id, _) = cursor(&opened, "firstBatch");
    write(&mut client, doc! {"drop": "c"}).await;
    let reply = get_more(&mut client, id).await;
    let (id, events) = cursor(&reply, "nextBatch");
    assert_eq!((id, kinds(events)), (0, vec!["drop", "invalidate"]));
    let token = |index: usize| {
        let event: &Document = events[index].as_document().unwrap();
        event.get_document("_id").unwrap().clone()
    };
    let rejected = watch(&mut client, doc! {"resumeAfter": token(1)}, &[]).await;
    assert_eq!(code(&rejected), 260);
    let again = watch(&mut client, doc! {"resumeAfter": token(0)}, &[]).await;
    assert_eq!(kinds(cursor(&again, "firstBatch").1), ["invalidate"]);
    let after = watch(&mut client, doc! {"startAfter": token(1)}, &[]).await;
    assert_ne!(cursor(&after, "firstBatch").0, 0);
}

#[tokio::test]
async fn get_more_waits_for_an_event() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    let opened = watch(
        &mut client,
        doc! {},
        &[doc! {"$match": {"operationType": "insert"}}],
    )
    .await;
    let (id, _) = cursor(&opened, "firstBatch");
    let seen = server.commands_seen("getMore");
    client
        .send(
            0,
            &on(
                "db",
                doc! {"getMore": id, "collection": "c", "maxTimeMS": 600_000},
            ),
        )
        .await;
    server.wait_for_command("getMore", seen + 1).await;
    let mut writer = primary(&server).await;
    write(&mut writer, doc! {"insert": "c", "documents": [{"_id": 1}]}).await;
    let reply = client.receive().await.unwrap().body;
    assert_eq!(kinds(cursor(&reply, "nextBatch").1), ["insert"]);
    let idle = client
        .run(on("db", doc! {"getMore": id, "collection": "c", "maxTimeMS": 1}))
        .await;
    assert!(cursor(&idle, "nextBatch").1.is_empty());
}

#[tokio::test]
async fn transactions_are_visible_after_the_commit() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    let opened = watch(&mut client, doc! {"showExpandedEvents": true}, &[]).await;
    let (id, _) = cursor(&opened, "firstBatch");
    let session = doc! {"lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64, "autocommit": false};
    let mut insert = on(
        "db",
        doc! {"insert": "c", "documents": [{"_id": 1}], "startTransaction": true},
    );
    insert.extend(session.clone());
    client.run(insert).await;
    let uncommitted = client
        .run(on("db", doc! {"getMore": id, "collection": "c", "maxTimeMS": 1}))
        .await;
    assert!(cursor(&uncommitted, "nextBatch").1.is_empty());
    let mut commit = on("admin", doc! {"commitTransaction": 1});
    commit.extend(session);
    client.run(commit).await;
    let reply = get_more(&mut client, id).await;
    assert_eq!(kinds(cursor(&reply, "nextBatch").1), ["create", "insert"]);
}

#[tokio::test]
async fn errors_of_change_streams() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    assert_eq!(
        code(&watch(&mut client, doc! {}, &[doc! {"$unknown": 1}]).await),
        40324
    );
    assert_eq!(
        code(&watch(&mut client, doc! {}, &[doc! {"$sort": {"a": 1}}]).await),
        20
    );
    assert_eq!(
        code(&watch(&mut client, doc! {"fullDocument": "some"}, &[]).await),
        2
    );
    let opened = watch(&mut client, doc! {}, &[doc! {"$project": {"_id": 0}}]).await;
    let (id, _) = cursor(&opened, "firstBatch");
    write(&mut client, doc! {"insert": "c", "documents": [{"_id": 1}]}).await;
    let fatal = get_more(&mut client, id).await;
    assert_eq!(code(&fatal), 280);
    assert_eq!(
        fatal.get_array("errorLabels").unwrap(),
        &vec![Bson::from("NonResumableChangeStreamError")]
    );
    // An error is resumable if the server has identified the cursor as a change stream.
    for (name, resumable) in [("failGetMoreAfterCursorCheckout", true), ("failCommand", false)] {
        let data = doc! {"failCommands": ["getMore"], "errorCode": 6};
        let point = doc! {"configureFailPoint": name, "mode": {"times": 1}, "data": data};
        let opened = watch(&mut client, doc! {}, &[]).await;
        let (id, _) = cursor(&opened, "firstBatch");
        client.run(on("admin", point)).await;
        let failed = get_more(&mut client, id).await;
        assert_eq!(code(&failed), 6);
        let labels = failed.get_array("errorLabels").cloned().unwrap_or_default();
        assert_eq!(
            labels == vec![Bson::from("ResumableChangeStreamError")],
            resumable
        );
    }
    let alone = TestServer::builder().start().await.unwrap();
    let mut client = Client::connect(alone.addresses()[0]).await;
    assert_eq!(code(&watch(&mut client, doc! {}, &[]).await), 40573);
}

#[tokio::test]
async fn tailable_cursors_return_new_documents() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    write(&mut client, doc! {"create": "c", "capped": true, "size": 4096}).await;
    let tail = on(
        "db",
        doc! {"find": "c", "tailable": true, "awaitData": true, "batchSize": 1},
    );
    let dead = client.run(tail.clone()).await;
    assert_eq!(cursor(&dead, "firstBatch").0, 0, "the collection is empty");
    write(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]},
    )
    .await;
    let opened = client.run(tail).await;
    let (id, first) = cursor(&opened, "firstBatch");
    assert_eq!(first.len(), 1);
    assert_eq!(cursor(&get_more(&mut client, id).await, "nextBatch").1.len(), 1);
    client
        .send(
            0,
            &on(
                "db",
                doc! {"getMore": id, "collection": "c", "maxTimeMS": 600_000},
            ),
        )
        .await;
    server.wait_for_command("getMore", 2).await;
    let mut writer = primary(&server).await;
    write(&mut writer, doc! {"insert": "c", "documents": [{"_id": 3}]}).await;
    let reply = client.receive().await.unwrap().body;
    assert_eq!(cursor(&reply, "nextBatch").1.len(), 1);
    let plain = client.run(on("db", doc! {"find": "d", "awaitData": true})).await;
    assert_eq!(code(&plain), 9);
    write(&mut client, doc! {"insert": "d", "documents": [{"_id": 3}]}).await;
    let plain = client.run(on("db", doc! {"find": "d", "tailable": true})).await;
    assert_eq!(code(&plain), 2);
    write(&mut client, doc! {"drop": "c"}).await;
    assert_eq!(code(&get_more(&mut client, id).await), 175);
}

#[tokio::test]
async fn large_events_are_split_and_streams_resume_within_them() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    write(
        &mut client,
        doc! {"create": "c", "changeStreamPreAndPostImages": {"enabled": true}},
    )
    .await;
    let large = |letter: &str| letter.repeat(10 << 20);
    write(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 1, "value": large("q")}]},
    )
    .await;
    let options = doc! {"fullDocumentBeforeChange": "required"};
    let split = doc! {"$changeStreamSplitLargeEvent": {}};
    let whole = watch(&mut client, options.clone(), &[]).await;
    let opened = watch(&mut client, options.clone(), std::slice::from_ref(&split)).await;
    write(
        &mut client,
        doc! {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"value": large("z")}}}]},
    )
    .await;
    write(
        &mut client,
        doc! {"delete": "c", "deletes": [{"q": {"_id": 7}, "limit": 1}]},
    )
    .await;
    write(&mut client, doc! {"insert": "c", "documents": [{"_id": 2}]}).await;
    let failed = get_more(&mut client, cursor(&whole, "firstBatch").0).await;
    assert_eq!(code(&failed), 10334);
    let (id, _) = cursor(&opened, "firstBatch");
    let mut tokens = Vec::new();
    for fragment in 1..=2 {
        let reply = get_more(&mut client, id).await;
        let (_, events) = cursor(&reply, "nextBatch");
        let event = events[0].as_document().unwrap();
        assert_eq!(
            event.get_document("splitEvent").unwrap(),
            &doc! {"fragment": fragment, "of": 2}
        );
        tokens.push(event.get_document("_id").unwrap().clone());
    }
    for (token, expected) in tokens.iter().zip([Some(2), None]) {
        let mut resumed = options.clone();
        resumed.insert("resumeAfter", token.clone());
        let reply = watch(&mut client, resumed.clone(), std::slice::from_ref(&split)).await;
        let first = cursor(&reply, "firstBatch").1[0].as_document().unwrap();
        let number = first
            .get_document("splitEvent")
            .map(|split| split.get_i32("fragment").unwrap());
        assert_eq!(number.ok(), expected);
        assert_eq!(
            code(&watch(&mut client, resumed, &[]).await),
            280,
            "without the stage"
        );
    }
    let mut other = doc! {"resumeAfter": tokens[0].clone()};
    assert_eq!(
        code(&watch(&mut client, other.clone(), std::slice::from_ref(&split)).await),
        280,
        "the event is not split without the pre-image"
    );
    other.clear();
    for (stages, expected) in [
        (vec![split.clone(), split.clone()], 7_182_802),
        (vec![split.clone(), doc! {"$match": {}}], 7_182_802),
        (vec![doc! {"$changeStreamSplitLargeEvent": {"a": 1}}], 7_182_800),
    ] {
        assert_eq!(code(&watch(&mut client, other.clone(), &stages).await), expected);
    }
    let plain = doc! {"aggregate": "c", "pipeline": [split], "cursor": {}};
    assert_eq!(code(&client.run(on("db", plain)).await), 20);
}

/// Opens a stream with `batchSize: 0`, which returns no event, and returns its `postBatchResumeToken`.
async fn watch_without_batch(client: &mut Client, stage: Document) -> (i64, Document) {
    let pipeline = [doc! {"$changeStream": stage}];
    let command = doc! {"aggregate": "c", "pipeline": pipeline.to_vec(), "cursor": {"batchSize": 0}};
    let opened = client.run(on("db", command)).await;
    let (id, first) = cursor(&opened, "firstBatch");
    assert!(first.is_empty(), "{opened}");
    let cursor = opened.get_document("cursor").unwrap();
    let token = cursor.get_document("postBatchResumeToken").unwrap();
    (id, token.clone())
}

#[tokio::test]
async fn the_token_of_a_stream_without_a_first_batch_precedes_its_events() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    write(&mut client, doc! {"create": "c"}).await;
    let (id, at_opening) = watch_without_batch(&mut client, doc! {}).await;
    write(
        &mut client,
        doc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]},
    )
    .await;
    let reply = get_more(&mut client, id).await;
    let first = cursor(&reply, "nextBatch").1[0].as_document().unwrap();
    let token = first.get_document("_id").unwrap();
    let time = first.get_timestamp("clusterTime").unwrap();
    for (stage, expected) in [
        (doc! {"resumeAfter": at_opening.clone()}, 2),
        (doc! {"startAfter": at_opening}, 2),
        (doc! {"startAtOperationTime": time}, 2),
        (doc! {"resumeAfter": token.clone()}, 1),
        (doc! {"startAfter": token.clone()}, 1),
    ] {
        let (id, before) = watch_without_batch(&mut client, stage.clone()).await;
        for option in ["resumeAfter", "startAfter"] {
            if let Ok(given) = stage.get_document(option) {
                assert_eq!(&before, given);
            }
        }
        let resumed = watch(&mut client, doc! {"resumeAfter": before}, &[]).await;
        assert_eq!(cursor(&resumed, "firstBatch").1.len(), expected, "{stage}");
        let reply = get_more(&mut client, id).await;
        assert_eq!(cursor(&reply, "nextBatch").1.len(), expected, "{stage}");
    }
}
