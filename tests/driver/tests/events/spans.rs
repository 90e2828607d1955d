//! Spans of operations and commands.

mod ends;
mod tracers;

use std::{future::poll_fn, task::Poll};

use marula_driver::{
    Client, WriteModel,
    bson::{Document, doc},
    options::{ClientOptions, ServerMonitoringMode},
};
use marula_driver_tests::{Deployment, SpanRecorder, replica_set, standalone};
use opentelemetry::{
    Context,
    trace::{FutureExt, TraceContextExt, Tracer, TracerProvider},
};
use opentelemetry_sdk::trace::Sampler;

const FAILURE: [&str; 3] = ["exception.message", "exception.type", "exception.stacktrace"];

fn traced(deployment: &Deployment) -> (SpanRecorder, Client) {
    traced_with(deployment, |_| {})
}

fn traced_with(deployment: &Deployment, set: impl FnOnce(&mut ClientOptions)) -> (SpanRecorder, Client) {
    let recorder = SpanRecorder::default();
    let mut options = ClientOptions::parse(&deployment.server.uri()).expect("options");
    recorder.observe(&mut options);
    set(&mut options);
    (recorder, Client::with_options(options).expect("a client"))
}

async fn fail(deployment: &Deployment, data: Document) {
    let fail_point = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
    let admin = deployment.client.database("admin");
    admin.run_command(fail_point).await.expect("a fail point");
}

#[tokio::test]
async fn each_attempt_has_a_span_below_that_of_the_operation() {
    let deployment = replica_set().await;
    // After the error, a streaming monitor would wait for the end of its check.
    let (recorder, client) = traced_with(&deployment, |options| {
        options.server_monitoring_mode = ServerMonitoringMode::Poll;
    });
    fail(
        &deployment,
        doc! { "failCommands": ["insert"], "errorCode": 89, "closeConnection": false },
    )
    .await;
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    assert_eq!(recorder.outline(), ["insert d.c (insert, insert)"]);
    let operation = &recorder.roots()[0];
    assert!(operation.is_client() && !operation.has_failed());
    let attempts = recorder.children(operation.id);
    let failed: Vec<_> = attempts
        .iter()
        .map(marula_driver_tests::RecordedSpan::has_failed)
        .collect();
    assert_eq!(failed, [true, false]);
    assert_eq!(attempts[0].text("db.response.status_code").as_deref(), Some("89"));
    for key in FAILURE {
        assert!(attempts[0].attribute(key).is_some(), "{key}");
        assert!(attempts[1].attribute(key).is_none(), "{key}");
        assert!(operation.attribute(key).is_none(), "{key}");
    }
    assert_eq!(
        attempts[0].text("db.mongodb.txn_number"),
        attempts[1].text("db.mongodb.txn_number")
    );
}

#[tokio::test]
async fn an_error_is_on_the_span_that_it_comes_from() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    things.find(doc! { "$nonsense": 1 }).await.unwrap_err();
    let operation = &recorder.roots()[0];
    let command = &recorder.children(operation.id)[0];
    assert!(operation.has_failed() && command.has_failed());
    assert_eq!(operation.attribute("exception.message"), None);
    let kind = command.text("exception.type");
    assert_eq!(kind.as_deref(), Some("marula_driver::ErrorKind::Command"));

    // A write error is part of a successful reply.
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    things.insert_one(&doc! { "_id": 1 }).await.unwrap_err();
    let operation = &recorder.roots()[2];
    let command = &recorder.children(operation.id)[0];
    assert!(operation.has_failed() && !command.has_failed());
    let kind = operation.text("exception.type");
    assert_eq!(kind.as_deref(), Some("marula_driver::ErrorKind::Write"));
}

#[tokio::test]
async fn an_error_of_server_selection_is_on_the_span_of_the_operation() {
    let recorder = SpanRecorder::default();
    let mut options = ClientOptions::parse("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1").unwrap();
    recorder.observe(&mut options);
    let client = Client::with_options(options).unwrap();
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap_err();
    assert_eq!(recorder.outline(), ["runCommand d"]);
    let operation = &recorder.roots()[0];
    assert!(operation.has_failed());
    let kind = operation.text("exception.type");
    assert_eq!(kind.as_deref(), Some("marula_driver::ErrorKind::ServerSelection"));
    assert_eq!(operation.attribute("db.response.status_code"), None);
}

#[tokio::test]
async fn the_spans_of_a_dropped_future_end_with_an_error() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    fail(
        &deployment,
        doc! { "failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 60_000 },
    )
    .await;
    let database = client.database("d");
    let mut ping = Box::pin(database.run_command(doc! { "ping": 1 }).into_future());
    poll_fn(|cx| {
        let _ = ping.as_mut().poll(cx);
        match recorder.spans().len() {
            2 => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
    assert_eq!(recorder.outline(), ["?", "?"], "both spans have begun");
    drop(ping);
    assert_eq!(recorder.outline(), ["runCommand d (ping)"]);
    for span in recorder.spans() {
        assert!(span.has_failed(), "{span:?}");
    }
    let command = &recorder.children(recorder.roots()[0].id)[0];
    let message = command.text("exception.stacktrace").unwrap();
    assert!(message.contains("the operation was dropped"), "{message}");
}

#[tokio::test]
async fn operations_are_children_of_the_current_span_also_in_spawned_tasks() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let tracer = recorder.provider().tracer("application");
    let parent = Context::new().with_span(tracer.start("request"));
    let ping = |client: Client| async move {
        client
            .database("d")
            .run_command(doc! { "ping": 1 })
            .await
            .unwrap();
    };
    ping(client.clone()).with_context(parent.clone()).await;
    tokio::spawn(ping(client.clone()).with_context(parent.clone()))
        .await
        .unwrap();
    ping(client).await;
    parent.span().end();
    assert_eq!(
        recorder.outline(),
        [
            "request (runCommand d (ping), runCommand d (ping))",
            "runCommand d (ping)"
        ]
    );
}

#[tokio::test]
async fn the_commands_of_a_cursor_are_below_the_operation_that_opened_it() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    let documents: Vec<Document> = (0..5).map(|id| doc! { "_id": id }).collect();
    things.insert_many(&documents).await.unwrap();
    let cursor = things.find(doc! {}).batch_size(2).await.unwrap();
    let operation = recorder.roots().pop().unwrap();
    assert!(operation.data.is_some(), "the span ends with the call");
    let all: Vec<Document> = cursor.try_collect().await.unwrap();
    assert_eq!(all.len(), 5);
    let expected = ["insert d.c (insert)", "find d.c (find, getMore, getMore)"];
    assert_eq!(recorder.outline(), expected);
    let commands = recorder.children(operation.id);
    let ids: Vec<_> = commands
        .iter()
        .map(|span| span.text("db.mongodb.cursor_id"))
        .collect();
    assert!(
        ids[0].is_some() && ids[0] == ids[1] && ids[1] == ids[2],
        "{ids:?}"
    );

    // Closing is a call of the application; dropping is not.
    let cursor = things.find(doc! {}).batch_size(1).await.unwrap();
    cursor.close().await;
    assert_eq!(recorder.outline()[2], "find d.c (find, killCursors)");
    let commands = recorder.children(recorder.roots()[2].id);
    let ids: Vec<_> = commands
        .iter()
        .map(|span| span.text("db.mongodb.cursor_id"))
        .collect();
    assert!(ids[0].is_some() && ids[0] == ids[1], "{ids:?}");
    drop(things.find(doc! {}).batch_size(1).await.unwrap());
    client.shutdown().await;
    assert_eq!(recorder.outline()[3..], ["find d.c (find)"]);
}

#[tokio::test]
async fn all_commands_of_a_bulk_write_are_below_one_operation() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    let models = [
        WriteModel::insert_one(&doc! { "_id": 1 }),
        WriteModel::update_one(doc! { "_id": 1 }, doc! { "$set": { "a": 1 } }),
        WriteModel::insert_one(&doc! { "_id": 1 }),
        WriteModel::delete_many(doc! {}),
    ];
    things.bulk_write(models).ordered(false).await.unwrap_err();
    assert_eq!(recorder.outline(), ["bulkWrite d.c (insert, update, delete)"]);
    let operation = &recorder.roots()[0];
    let kind = operation.text("exception.type");
    assert_eq!(kind.as_deref(), Some("marula_driver::ErrorKind::BulkWrite"));
    things.insert_many(&[] as &[Document]).await.unwrap_err();
    assert_eq!(recorder.spans().len(), 4, "nothing was sent");
}

#[tokio::test]
async fn sensitive_commands_have_no_span() {
    let deployment = standalone().await;
    let recorder = SpanRecorder::default();
    let mut options = ClientOptions::parse(&deployment.server.uri()).unwrap();
    recorder.observe(&mut options);
    options.tracing.query_text_max_length = Some(1000);
    let database = Client::with_options(options).unwrap().database("admin");
    for command in [
        doc! { "saslStart": 1, "mechanism": "hunter2", "payload": "hunter2" },
        doc! { "createUser": "hunter2", "pwd": "hunter2", "roles": [] },
        doc! { "hello": 1, "speculativeAuthenticate": { "saslStart": 1, "payload": "hunter2" } },
    ] {
        let _ = database.run_command(command).await;
    }
    assert_eq!(recorder.outline(), ["runCommand admin"; 3]);
    assert!(!format!("{:?}", recorder.spans()).contains("hunter2"));
}

#[tokio::test]
async fn the_text_of_a_command_is_truncated() {
    let deployment = standalone().await;
    for (limit, text) in [
        (0, None),
        (17, Some(r#"{"find": "c", "fi..."#)),
        (1000, Some(r#"{"find": "c", "filter": {"a": {"$gt": 3}}}"#)),
    ] {
        let recorder = SpanRecorder::default();
        let mut options = ClientOptions::parse(&deployment.server.uri()).unwrap();
        recorder.observe(&mut options);
        options.tracing.query_text_max_length = Some(limit);
        let client = Client::with_options(options).unwrap();
        let things = client.database("d").collection::<Document>("c");
        things.find(doc! { "a": { "$gt": 3 } }).await.unwrap();
        let command = &recorder.children(recorder.roots()[0].id)[0];
        assert_eq!(command.text("db.query.text").as_deref(), text);
    }
}

/// Only the span of the operation is created, which the sampler rejects.
#[tokio::test]
async fn nothing_is_recorded_if_operations_are_not_sampled() {
    let deployment = standalone().await;
    let recorder = SpanRecorder::with_sampler(Sampler::AlwaysOff);
    let mut options = ClientOptions::parse(&deployment.server.uri()).unwrap();
    recorder.observe(&mut options);
    let client = Client::with_options(options).unwrap();
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap();
    assert!(recorder.spans().is_empty());
}

#[tokio::test]
async fn collections_are_part_of_spans_and_commands_of_the_driver_are_not() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let database = client.database("d");
    database.create_collection("c").await.unwrap();
    let things = database.collection::<Document>("c");
    things.count_documents(doc! {}).await.unwrap();
    things.estimated_document_count().await.unwrap();
    things.find_one_and_delete(doc! {}).await.unwrap();
    database.list_collection_names().await.unwrap();
    database.run_command(doc! { "collStats": "c" }).await.unwrap();
    database
        .run_command(doc! { "dropUser": "ada" })
        .await
        .unwrap_err();
    things.drop().await.unwrap();
    database.drop().await.unwrap();
    client.list_database_names().await.unwrap();
    client.shutdown().await;
    assert_eq!(
        recorder.outline(),
        [
            "createCollection d.c (create)",
            "aggregate d.c (aggregate)",
            "count d.c (count)",
            "findAndModify d.c (findAndModify)",
            "listCollections d (listCollections)",
            "runCommand d.c (collStats)",
            "runCommand d (dropUser)",
            "dropCollection d.c (drop)",
            "dropDatabase d (dropDatabase)",
            "listDatabases admin (listDatabases)",
        ]
    );
}

#[tokio::test]
async fn the_operations_of_a_transaction_are_below_its_span() {
    let deployment = replica_set().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 0 }).await.unwrap();
    let tracer = recorder.provider().tracer("application");
    let request = Context::new().with_span(tracer.start("request"));
    let work = async {
        let mut tx = client.start_transaction().await.unwrap();
        things
            .insert_one(&doc! { "_id": 1 })
            .session(&mut tx)
            .await
            .unwrap();
        things
            .insert_many(&[doc! { "_id": 2 }])
            .session(&mut tx)
            .await
            .unwrap();
        things.find_one(doc! {}).await.unwrap();
        tx.commit().await.unwrap();
        // The server ignores a repeated commit, and its span has the same parent.
        tx.commit().await.unwrap();
        things.find_one(doc! {}).session(&mut tx).await.unwrap();
    };
    work.with_context(request.clone()).await;
    request.span().end();
    let expected = [
        "insert d.c (insert)",
        "request (\
            transaction (\
                insert d.c (insert), insert d.c (insert), \
                commitTransaction admin (commitTransaction), commitTransaction admin (commitTransaction)\
            ), \
            find d.c (find), find d.c (find)\
        )",
    ];
    assert_eq!(recorder.outline(), expected);
}

#[tokio::test]
async fn each_attempt_of_a_transaction_has_a_span() {
    let deployment = replica_set().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 0 }).await.unwrap();
    fail(
        &deployment,
        doc! {
            "failCommands": ["commitTransaction"], "errorCode": 251, "errorLabels": ["TransientTransactionError"],
        },
    )
    .await;
    let insert = async |tx: &mut marula_driver::TransactionScope| {
        things.insert_one(&doc! { "_id": 1 }).session(tx).await
    };
    client.transaction().run(insert).await.unwrap();
    let attempt = "transaction (insert d.c (insert), commitTransaction admin (commitTransaction))";
    assert_eq!(recorder.outline()[1..], [attempt; 2]);
    let failed: Vec<bool> = recorder.roots()[1..]
        .iter()
        .map(marula_driver_tests::RecordedSpan::has_failed)
        .collect();
    assert_eq!(failed, [true, false]);
}

#[tokio::test]
async fn a_dropped_transaction_ends_its_span_with_the_abort() {
    let deployment = replica_set().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    let mut tx = client.start_transaction().await.unwrap();
    things
        .insert_one(&doc! { "_id": 1 })
        .session(&mut tx)
        .await
        .unwrap();
    drop(tx);
    drop(client.start_transaction().await.unwrap());
    recorder.wait_for(6).await;
    let aborted = "transaction (insert d.c (insert), abortTransaction admin (abortTransaction))";
    assert_eq!(recorder.outline(), [aborted, "transaction"]);
}
