//! Command monitoring events.

use marula_driver::{
    Client,
    bson::{Document, doc},
    event::CommandEvent,
    options::ClientOptions,
};
use marula_driver_tests::{CommandRecorder, any_deployment, replica_set, standalone};

/// The events as text, such as "started insert".
fn outline(events: &[CommandEvent]) -> Vec<String> {
    let step = |event: &CommandEvent| match event {
        CommandEvent::Started(_) => "started",
        CommandEvent::Succeeded(_) => "succeeded",
        CommandEvent::Failed(_) => "failed",
        _ => "?",
    };
    events
        .iter()
        .map(|event| format!("{} {}", step(event), event.command_name()))
        .collect()
}

fn document(raw: &marula_driver::bson::RawDocumentBuf) -> Document {
    Document::try_from(&**raw).expect("a document")
}

#[tokio::test]
async fn events_contain_the_command_and_the_reply() {
    let deployment = any_deployment().await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&deployment.uri_with(""));
    let name = deployment.database_name();
    let things = client.database(&name).collection::<Document>("things");
    things
        .insert_many(&[doc! { "_id": 1 }, doc! { "_id": 2 }])
        .await
        .unwrap();
    let events = recorder.take();
    assert_eq!(outline(&events), ["started insert", "succeeded insert"]);
    let (CommandEvent::Started(started), CommandEvent::Succeeded(succeeded)) = (&events[0], &events[1])
    else {
        panic!("{events:?}");
    };
    let command = document(&started.command);
    assert_eq!(command.get_str("insert").unwrap(), "things");
    assert_eq!(command.get_str("$db").unwrap(), name);
    assert!(command.contains_key("lsid"));
    assert_eq!(
        command.get_array("documents").unwrap().len(),
        2,
        "the document sequence is an array"
    );
    assert_eq!(started.database_name, name);
    assert_eq!(document(&succeeded.reply).get_i32("n").unwrap(), 2);
    assert_eq!(started.request_id, succeeded.request_id);
    assert_eq!(started.connection, succeeded.connection);
    assert_eq!(started.connection.connection_id, 1);
    assert!(started.connection.server_connection_id.is_some());
}

#[tokio::test]
async fn a_write_error_is_a_succeeded_event_and_a_command_error_a_failed_event() {
    let deployment = any_deployment().await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&deployment.uri_with(""));
    let things = client
        .database(&deployment.database_name())
        .collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    let _ = recorder.take();
    things.insert_one(&doc! { "_id": 1 }).await.unwrap_err();
    let events = recorder.take();
    assert_eq!(outline(&events), ["started insert", "succeeded insert"]);
    things.find(doc! { "$nonsense": 1 }).await.unwrap_err();
    let events = recorder.take();
    assert_eq!(outline(&events), ["started find", "failed find"]);
    let CommandEvent::Failed(failed) = &events[1] else {
        panic!("{events:?}");
    };
    assert_eq!(failed.failure.code(), Some(2));
}

#[tokio::test]
async fn each_attempt_has_events() {
    let deployment = replica_set().await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&deployment.server.uri());
    let fail_point = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["insert"], "closeConnection": true },
    };
    deployment
        .client
        .database("admin")
        .run_command(fail_point)
        .await
        .unwrap();
    let things = client.database("events").collection::<Document>("things");
    things.insert_one(&doc! {}).await.unwrap();
    let events = recorder.take();
    let expected = [
        "started insert",
        "failed insert",
        "started insert",
        "succeeded insert",
    ];
    assert_eq!(outline(&events), expected);
    let numbers = |event: &CommandEvent| match event {
        CommandEvent::Started(started) => (
            started.operation_id,
            document(&started.command).get_i64("txnNumber").unwrap(),
        ),
        other => panic!("{other:?}"),
    };
    assert_eq!(numbers(&events[0]), numbers(&events[2]));
}

#[tokio::test]
async fn an_unacknowledged_write_has_a_succeeded_event_with_ok_1() {
    let deployment = any_deployment().await;
    let recorder = CommandRecorder::default();
    let mut options = ClientOptions::parse(&deployment.uri_with("")).unwrap();
    recorder.listen(&mut options);
    options.write_concern = marula_driver::options::WriteConcern::nodes(0);
    let client = Client::with_options(options).unwrap();
    let things = client
        .database(&deployment.database_name())
        .collection::<Document>("things");
    things.insert_one(&doc! {}).await.unwrap();
    let events = recorder.take();
    let CommandEvent::Succeeded(succeeded) = &events[1] else {
        panic!("{events:?}");
    };
    assert_eq!(document(&succeeded.reply), doc! { "ok": 1 });
}

#[tokio::test]
async fn a_dropped_operation_has_a_failed_event() {
    let deployment = standalone().await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&deployment.server.uri());
    let block = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 60_000 },
    };
    deployment
        .client
        .database("admin")
        .run_command(block)
        .await
        .unwrap();
    let database = client.database("events");
    let mut ping = Box::pin(database.run_command(doc! { "ping": 1 }).into_future());
    let started = std::future::poll_fn(|cx| {
        let _ = ping.as_mut().poll(cx);
        if recorder.is_empty() {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    });
    started.await;
    drop(ping);
    assert_eq!(outline(&recorder.take()), ["started ping", "failed ping"]);
}

#[tokio::test]
async fn sensitive_commands_are_redacted() {
    let deployment = any_deployment().await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&deployment.uri_with(""));
    let database = client.database("admin");
    for command in [
        doc! { "saslStart": 1, "mechanism": "x", "payload": "hunter2" },
        doc! { "createUser": "u", "pwd": "hunter2", "roles": [] },
        doc! { "hello": 1, "speculativeAuthenticate": { "saslStart": 1, "payload": "hunter2" } },
    ] {
        let _ = database.run_command(command).await;
        let events = recorder.take();
        assert_eq!(events.len(), 2);
        assert!(!format!("{events:?}").contains("hunter2"), "{events:?}");
        for event in &events {
            match event {
                CommandEvent::Started(started) => assert!(started.command.is_empty()),
                CommandEvent::Succeeded(succeeded) => assert!(succeeded.reply.is_empty()),
                CommandEvent::Failed(failed) => assert!(failed.failure.server_response().is_none()),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn events_name_the_database_and_the_collection() {
    let deployment = any_deployment().await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&deployment.uri_with(""));
    let name = deployment.database_name();
    let database = client.database(&name);
    let things = database.collection::<Document>("things");
    things
        .insert_many(&[doc! { "_id": 1 }, doc! { "_id": 2 }])
        .await
        .unwrap();
    let mut cursor = things.find(doc! {}).batch_size(1).await.unwrap();
    while cursor.advance().await.unwrap() {}
    things.find(doc! { "$nonsense": 1 }).await.unwrap_err();
    database.aggregate([doc! { "$documents": [] }]).await.ok();
    database.run_command(doc! { "count": "things" }).await.unwrap();
    database.run_command(doc! { "ping": 1 }).await.unwrap();
    let events = recorder.take();
    for event in &events {
        let is_on_collection = matches!(event.command_name(), "insert" | "find" | "getMore" | "count");
        assert_eq!(
            event.collection_name(),
            is_on_collection.then_some("things"),
            "{event:?}"
        );
        assert_eq!(event.database_name(), name);
    }
    assert!(
        events
            .iter()
            .any(|event| matches!(event, CommandEvent::Failed(_)))
    );
}
