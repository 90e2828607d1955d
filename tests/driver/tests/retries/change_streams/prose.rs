//! The prose tests of the Change Streams specification, with a replica set.

use marula_driver::{
    ChangeStream, Client, Collection, ResumeToken,
    bson::{Array, Document, doc},
    event::CommandEvent,
    options::{ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{RecordedClient, recorded, replica_set};

use crate::prose::stage::{fail, times};

const LABEL: [&str; 1] = ["ResumableChangeStreamError"];

/// A replica set, a client whose commands are recorded, and a collection that exists.
struct Stage {
    recorded: RecordedClient,
    things: Collection<Document>,
    members: Vec<String>,
}

impl Stage {
    async fn with(options: &str) -> Self {
        let deployment = replica_set().await;
        let members = deployment.server.member_uris();
        let recorded = recorded(deployment, options);
        let things = recorded.things();
        let direct = recorded.deployment.client.database(things.database().name());
        direct.create_collection(things.name()).await.expect("created");
        Self {
            recorded,
            things,
            members,
        }
    }

    async fn start() -> Self {
        Self::with("").await
    }

    async fn insert(&self, id: i32) {
        self.unrecorded()
            .insert_one(&doc! { "_id": id })
            .await
            .expect("stored");
    }

    /// The collection without a recorder.
    fn unrecorded(&self) -> Collection<Document> {
        let client: &Client = &self.recorded.deployment.client;
        client
            .database(self.things.database().name())
            .collection(self.things.name())
    }

    /// Lets these commands fail once each, on all members.
    async fn fail(&self, commands: &[&str], code: i32) {
        let count = i32::try_from(commands.len()).expect("a few");
        let commands: Array = commands.iter().map(|name| (*name).into()).collect();
        for member in &self.members {
            let data =
                doc! { "failCommands": commands.clone(), "errorCode": code, "errorLabels": LABEL.to_vec() };
            fail(member, times(count), data).await;
        }
    }

    /// The commands so far with this name, and their addresses.
    fn sent(&self, name: &str) -> Vec<(Document, String)> {
        let started = |event: CommandEvent| match event {
            CommandEvent::Started(started) if started.command_name == name => {
                let command = Document::try_from(&*started.command).expect("a document");
                Some((command, started.connection.address.to_string()))
            }
            _ => None,
        };
        self.recorded
            .commands
            .take()
            .into_iter()
            .filter_map(started)
            .collect()
    }
}

/// The options of `$changeStream`.
fn stage_of(command: &Document) -> Document {
    let pipeline = command.get_array("pipeline").expect("a pipeline");
    let first = pipeline[0].as_document().expect("a stage");
    first
        .get_document("$changeStream")
        .expect("a change stream")
        .clone()
}

async fn watch(things: &Collection<Document>) -> ChangeStream<Document> {
    things.watch().with_type().await.expect("a stream")
}

/// The `_id` of the changed document in the next event, and the `_id` of the event.
async fn next(changes: &mut ChangeStream<Document>) -> (i32, ResumeToken) {
    let event = changes.try_next().await.expect("no error").expect("an event");
    let key = event.get_document("documentKey").expect("a key");
    let token = event.get_document("_id").expect("a token");
    (
        key.get_i32("_id").expect("a number"),
        marula_driver::bson::from_document(token).expect("a token"),
    )
}

#[tokio::test]
async fn change_streams_prose_1_the_last_token_is_tracked() {
    let stage = Stage::start().await;
    let mut changes = watch(&stage.things).await;
    let mut tokens = vec![changes.resume_token()];
    for id in 0..3 {
        stage.insert(id).await;
        assert_eq!(next(&mut changes).await.0, id);
        tokens.push(changes.resume_token());
    }
    assert!(tokens.windows(2).all(|pair| pair[0] != pair[1]), "{tokens:?}");
    drop(stage.sent("aggregate"));
    stage.fail(&["getMore"], 6).await;
    stage.insert(3).await;
    let expected = changes.resume_token().expect("a token");
    assert_eq!(next(&mut changes).await.0, 3);
    let resumed = stage.sent("aggregate");
    assert_eq!(resumed.len(), 1);
    let token = stage_of(&resumed[0].0)
        .get_document("resumeAfter")
        .expect("a token")
        .clone();
    assert_eq!(
        marula_driver::bson::from_document::<ResumeToken>(&token).expect("a token"),
        expected
    );
}

#[tokio::test]
async fn change_streams_prose_2_the_server_rejects_events_without_tokens() {
    let stage = Stage::start().await;
    let without = [doc! { "$project": { "_id": 0 } }];
    let mut changes = stage.things.watch().pipeline(without).await.expect("a stream");
    stage.insert(1).await;
    let error = changes.try_next().await.expect_err("no token");
    assert_eq!(error.code(), Some(280), "{error}");
    assert!(!changes.is_alive());
}

#[tokio::test]
async fn change_streams_prose_3_resumes_once_with_the_same_pipeline_and_options() {
    for code in [6, 10107] {
        let stage = Stage::start().await;
        let mut changes = stage
            .things
            .watch()
            .pipeline([doc! { "$match": { "operationType": "insert" } }])
            .full_document("updateLookup")
            .batch_size(2)
            .comment("prose")
            .with_type::<Document>()
            .await
            .expect("a stream");
        stage.insert(1).await;
        next(&mut changes).await;
        stage.fail(&["getMore"], code).await;
        stage.insert(2).await;
        assert_eq!(next(&mut changes).await.0, 2);
        let mut opened = stage.sent("aggregate");
        assert_eq!(opened.len(), 2);
        for (command, _) in &mut opened {
            command.remove("$clusterTime");
            let pipeline = command.get_array_mut("pipeline").expect("a pipeline");
            let first = pipeline[0].as_document_mut().expect("a stage");
            let options = first.get_document_mut("$changeStream").expect("options");
            options.remove("resumeAfter");
        }
        assert_eq!(opened[0].0, opened[1].0);
    }
}

#[tokio::test]
async fn change_streams_prose_4_an_aggregate_is_not_resumed() {
    let stage = Stage::with("retryReads=false").await;
    stage.fail(&["aggregate"], 10107).await;
    let error = stage.things.watch().await.expect_err("the aggregate failed");
    assert_eq!(error.code(), Some(10107), "{error}");
    assert_eq!(stage.sent("aggregate").len(), 1);
}

#[tokio::test]
async fn change_streams_prose_6_the_resume_uses_the_original_read_preference() {
    let stage = Stage::start().await;
    let primary = stage
        .recorded
        .deployment
        .in_process("the primary")
        .and_then(marula_test_server::TestServer::primary);
    let primary = primary.expect("a primary").to_string();
    let secondary = ReadPreference::new(ReadPreferenceMode::Secondary);
    let mut changes = stage
        .things
        .watch()
        .read_preference(secondary)
        .with_type::<Document>()
        .await
        .expect("a stream");
    stage.fail(&["getMore"], 6).await;
    stage.insert(1).await;
    assert_eq!(next(&mut changes).await.0, 1);
    let opened = stage.sent("aggregate");
    assert_eq!(opened.len(), 2);
    for (command, address) in opened {
        let preference = command.get_document("$readPreference").expect("a preference");
        assert_eq!(preference.get_str("mode").expect("a mode"), "secondary");
        assert_ne!(address, primary);
    }
}

#[tokio::test]
async fn change_streams_prose_7_a_cursor_with_an_empty_batch_stays_open() {
    let stage = Stage::start().await;
    let mut changes = watch(&stage.things).await;
    assert!(changes.is_alive());
    assert!(changes.next_if_any().await.expect("an empty batch").is_none());
    assert!(changes.is_alive());
    let names: Vec<String> = stage.recorded.commands.operations().concat();
    assert_eq!(names, ["aggregate", "getMore"]);
}

#[tokio::test]
async fn change_streams_prose_8_errors_of_kill_cursors_are_ignored() {
    let stage = Stage::start().await;
    let mut changes = watch(&stage.things).await;
    stage.fail(&["getMore", "killCursors"], 6).await;
    stage.insert(1).await;
    assert_eq!(next(&mut changes).await.0, 1);
    assert_eq!(stage.sent("aggregate").len(), 2);
}

#[tokio::test]
async fn change_streams_prose_11_and_13_the_token_within_and_at_the_end_of_a_batch() {
    let stage = Stage::start().await;
    let mut changes = watch(&stage.things).await;
    for id in 0..3 {
        stage.insert(id).await;
    }
    for id in 0..3 {
        let (found, own) = next(&mut changes).await;
        assert_eq!(found, id);
        let cached = changes.resume_token().expect("a token");
        assert_eq!(cached == own, id < 2, "the last event of the batch: {id}");
    }
    let at_the_end = changes.resume_token().expect("a token");
    let replies: Vec<Document> = stage
        .recorded
        .commands
        .take()
        .into_iter()
        .filter_map(|event| match event {
            CommandEvent::Succeeded(event) if event.command_name == "getMore" => {
                Some(Document::try_from(&*event.reply).expect("a document"))
            }
            _ => None,
        })
        .collect();
    let cursor = replies
        .last()
        .expect("a reply")
        .get_document("cursor")
        .expect("a cursor");
    let sent = cursor.get_document("postBatchResumeToken").expect("a token");
    assert_eq!(
        marula_driver::bson::from_document::<ResumeToken>(sent).expect("a token"),
        at_the_end
    );
}

#[tokio::test]
async fn change_streams_prose_14_the_token_before_iteration() {
    let stage = Stage::start().await;
    let mut changes = watch(&stage.things).await;
    stage.insert(1).await;
    let (_, token) = next(&mut changes).await;
    stage.insert(2).await;
    let mut after = stage
        .things
        .watch()
        .start_after(&token)
        .with_type()
        .await
        .expect("a stream");
    assert_eq!(after.resume_token().as_ref(), Some(&token));
    assert_eq!(next(&mut after).await.0, 2);
    let resumed = stage.things.watch().resume_after(&token).await.expect("a stream");
    assert_eq!(resumed.resume_token().as_ref(), Some(&token));
}

#[tokio::test]
async fn change_streams_prose_17_start_after_is_kept_while_there_are_no_events() {
    let stage = Stage::start().await;
    let mut changes = watch(&stage.things).await;
    stage.insert(1).await;
    let (_, token) = next(&mut changes).await;
    let mut after = stage
        .things
        .watch()
        .start_after(token)
        .with_type()
        .await
        .expect("a stream");
    drop(stage.sent("aggregate"));
    stage.fail(&["getMore"], 6).await;
    stage.insert(2).await;
    assert_eq!(next(&mut after).await.0, 2);
    let resumed = stage_of(&stage.sent("aggregate")[0].0);
    assert!(
        resumed.contains_key("startAfter") && !resumed.contains_key("resumeAfter"),
        "{resumed}"
    );
}

#[tokio::test]
async fn change_streams_prose_18_start_after_becomes_resume_after() {
    let stage = Stage::start().await;
    let mut changes = watch(&stage.things).await;
    stage.insert(1).await;
    let (_, token) = next(&mut changes).await;
    let mut after = stage
        .things
        .watch()
        .start_after(token)
        .with_type()
        .await
        .expect("a stream");
    stage.insert(2).await;
    assert_eq!(next(&mut after).await.0, 2);
    drop(stage.sent("aggregate"));
    stage.fail(&["getMore"], 6).await;
    stage.insert(3).await;
    assert_eq!(next(&mut after).await.0, 3);
    let resumed = stage_of(&stage.sent("aggregate")[0].0);
    assert!(
        resumed.contains_key("resumeAfter") && !resumed.contains_key("startAfter"),
        "{resumed}"
    );
}

#[tokio::test]
async fn change_streams_prose_19_large_events_are_split() {
    let stage = Stage::start().await;
    let things = stage.unrecorded();
    things.drop().await.expect("dropped");
    let images = doc! { "enabled": true };
    let database = things.database();
    database
        .create_collection(things.name())
        .change_stream_pre_and_post_images(images)
        .await
        .expect("created");
    let large = |letter: &str| letter.repeat(10 << 20);
    things
        .insert_one(&doc! { "value": large("q") })
        .await
        .expect("stored");
    let mut changes = things
        .watch()
        .pipeline([doc! { "$changeStreamSplitLargeEvent": {} }])
        .full_document_before_change("required")
        .await
        .expect("a stream");
    things
        .update_one(doc! {}, doc! { "$set": { "value": large("z") } })
        .await
        .expect("updated");
    for fragment in 1..=2 {
        if fragment == 2 {
            // The token of the first fragment is that of the resume.
            stage.fail(&["getMore"], 6).await;
        }
        let event = changes.try_next().await.expect("no error").expect("an event");
        let split = event.split_event.expect("a fragment");
        assert_eq!((split.fragment, split.of), (fragment, 2), "{split:?}");
    }
}

/// The server refuses a token that it did not create, and the token of an invalidated stream.
#[tokio::test]
async fn tokens_that_cannot_be_resumed_are_typed_errors() {
    let stage = Stage::start().await;
    let invalid = ResumeToken::from(marula_driver::bson::rawdoc! { "_data": "not a token" });
    let error = stage
        .things
        .watch()
        .resume_after(invalid)
        .await
        .expect_err("refused");
    assert_eq!(error.code(), Some(260), "{error}");
    let mut changes = watch(&stage.things).await;
    stage.unrecorded().drop().await.expect("dropped");
    while changes.try_next().await.expect("drop and invalidate").is_some() {}
    assert!(!changes.is_alive());
    let token = changes.resume_token().expect("of the invalidate event");
    let error = stage
        .things
        .watch()
        .resume_after(&token)
        .await
        .expect_err("refused");
    assert!(
        matches!(error.kind(), marula_driver::ErrorKind::Command(_)),
        "{error}"
    );
    stage
        .things
        .watch()
        .start_after(&token)
        .await
        .expect("a stream after the invalidate event");
}
