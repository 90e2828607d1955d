//! When the spans of operations and transactions end, and with which error.

use std::{future::poll_fn, task::Poll, time::Duration};

use futures_util::FutureExt;
use marula_driver::{
    Client, ErrorKind, TransactionScope, UNKNOWN_TRANSACTION_COMMIT_RESULT,
    bson::{Document, doc},
    options::ClientOptions,
};
use marula_driver_tests::{RecordedSpan, SpanRecorder, replica_set, standalone};
use marula_test_server::TestServer;
use tokio::io::AsyncWriteExt;

use super::{FAILURE, fail, traced};

/// Models whose results do not fit into one batch, and need `count - 1` getMore commands.
fn large_upserts(
    things: &marula_driver::Collection<Document>,
    count: usize,
) -> Vec<marula_driver::ClientWriteModel> {
    let letters = ["a", "b", "c", "d"].into_iter().take(count);
    letters
        .map(|letter| {
            let filter = doc! { "_id": letter.repeat(8 << 20) };
            things
                .update_one_model(filter, doc! { "$set": { "x": 1 } })
                .upsert(true)
        })
        .collect()
}

/// The results cursor of a bulk write is exhausted before its operation ends.
#[tokio::test]
async fn a_bulk_write_with_several_batches_of_results_succeeds() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    let done = client
        .bulk_write(large_upserts(&things, 3))
        .verbose_results(true)
        .await
        .unwrap();
    assert_eq!(done.upserted_count, 3);
    let outline = recorder.outline();
    assert_eq!(outline, ["bulkWrite admin (bulkWrite, getMore, getMore)"]);
    let operation = &recorder.roots()[0];
    assert!(!operation.has_failed(), "{operation:?}");
    let ended = |span: &RecordedSpan| span.data.as_ref().expect("an ended span").end_time;
    for command in recorder.children(operation.id) {
        assert!(ended(&command) <= ended(operation));
    }
}

/// The error of the getMore is that of the operation, and is recorded on the span of the getMore.
#[tokio::test]
async fn a_bulk_write_fails_with_the_error_of_its_results() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    fail(&deployment, doc! { "failCommands": ["getMore"], "errorCode": 8 }).await;
    client
        .bulk_write(large_upserts(&things, 2))
        .verbose_results(true)
        .await
        .unwrap_err();
    let operation = &recorder.roots()[0];
    let commands = recorder.children(operation.id);
    assert!(operation.has_failed() && commands[1].has_failed());
    assert_eq!(commands[1].text("db.response.status_code").as_deref(), Some("8"));
    for key in FAILURE {
        assert!(operation.attribute(key).is_none(), "{key}");
    }
}

/// The result of the first commit is unknown.
async fn fail_commit(deployment: &marula_driver_tests::Deployment) {
    let error = doc! { "code": 64, "errmsg": "the write concern timed out" };
    let data = doc! { "failCommands": ["commitTransaction"], "writeConcernError": error };
    fail(deployment, data).await;
}

#[tokio::test]
async fn a_transaction_ends_with_its_repeated_commit() {
    let deployment = replica_set().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    fail_commit(&deployment).await;
    let insert = async |tx: &mut TransactionScope| things.insert_one(&doc! { "_id": 1 }).session(tx).await;
    client.transaction().run(insert).await.unwrap();
    let commit = "commitTransaction admin (commitTransaction)";
    let expected = format!("transaction (insert d.c (insert), {commit}, {commit})");
    assert_eq!(recorder.outline(), [expected]);
    let transaction = &recorder.roots()[0];
    assert!(!transaction.has_failed(), "{transaction:?}");
    let ended = |span: &RecordedSpan| span.data.as_ref().expect("an ended span").end_time;
    for operation in recorder.children(transaction.id) {
        assert!(ended(&operation) <= ended(transaction));
    }
}

/// The commit is not repeated: the span ends with its error when the session is used otherwise.
#[tokio::test]
async fn a_transaction_with_an_unknown_result_ends_with_the_error() {
    let deployment = replica_set().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    for ending in ["operation", "transaction", "drop"] {
        let before = recorder.roots().len();
        let mut session = client.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        things.insert_one(&doc! {}).session(&mut session).await.unwrap();
        fail_commit(&deployment).await;
        let error = session.commit_transaction().await.unwrap_err();
        assert!(
            error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT),
            "{error:?}"
        );
        assert!(
            recorder.spans().iter().any(|span| span.data.is_none()),
            "it can be repeated"
        );
        match ending {
            "operation" => {
                things.find_one(doc! {}).session(&mut session).await.unwrap();
            }
            "transaction" => {
                session.start_transaction().await.unwrap();
                session.abort_transaction().await.unwrap();
            }
            _ => drop(session),
        }
        let transaction = &recorder.roots()[before];
        assert!(transaction.has_failed(), "{ending}");
    }
}

#[tokio::test]
async fn a_transaction_ends_with_the_commit_after_one_that_was_not_sent() {
    let deployment = replica_set().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    let mut tx = client.start_transaction().await.unwrap();
    things.insert_one(&doc! {}).session(&mut tx).await.unwrap();
    let expired = tx.commit().timeout(Duration::from_nanos(1)).await;
    assert!(expired.unwrap_err().is_timeout());
    tx.commit().await.unwrap();
    let transaction = "transaction (insert d.c (insert), commitTransaction admin, \
                       commitTransaction admin (commitTransaction))";
    assert_eq!(recorder.outline(), [transaction]);
    let transaction = &recorder.roots()[0];
    assert!(!transaction.has_failed(), "{transaction:?}");
}

/// It is unknown whether the transaction was committed.
#[tokio::test]
async fn a_transaction_whose_commit_was_dropped_ends_with_an_error() {
    let deployment = replica_set().await;
    let (recorder, client) = traced(&deployment);
    let things = client.database("d").collection::<Document>("c");
    let mut tx = client.start_transaction().await.unwrap();
    things.insert_one(&doc! {}).session(&mut tx).await.unwrap();
    let block =
        doc! { "failCommands": ["commitTransaction"], "blockConnection": true, "blockTimeMS": 60_000 };
    fail(&deployment, block).await;
    let mut commit = Box::pin(tx.commit().into_future());
    poll_fn(|cx| {
        let _ = commit.as_mut().poll(cx);
        match recorder.spans().len() {
            5 => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
    drop(commit);
    assert!(
        recorder.roots().iter().any(|span| span.data.is_none()),
        "it can be repeated"
    );
    drop(tx);
    let commit = "commitTransaction admin (commitTransaction)";
    assert_eq!(
        recorder.outline(),
        [format!("transaction (insert d.c (insert), {commit})")]
    );
    assert!(recorder.roots()[0].has_failed());
}

/// No call of the application waits for what GridFS does after a stream or a future is dropped.
#[tokio::test]
async fn gridfs_commands_in_the_background_have_no_operation() {
    let deployment = standalone().await;
    let (recorder, client) = traced(&deployment);
    let bucket = client.database("d").gridfs_bucket().with_chunk_size(4);
    let untraced = deployment.client.database("d");
    let is_empty = async |name: &str| {
        let things = untraced.collection::<Document>(name);
        while things.find_one(doc! {}).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    };
    let mut upload = bucket.open_upload_stream("f").await.unwrap();
    upload.write_all(b"01234").await.unwrap();
    upload.flush().await.unwrap();
    let before = recorder.outline();
    drop(upload);
    is_empty("fs.chunks").await;
    assert_eq!(recorder.outline(), before);

    let id = bucket.upload_from_stream("f", &b"01234"[..]).await.unwrap();
    let mut expected = recorder.outline();
    assert!(bucket.delete(id).into_future().now_or_never().is_none());
    is_empty("fs.chunks").await;
    client.shutdown().await;
    // The operation that had begun.
    expected.push("delete d.fs.files (delete)".to_owned());
    assert_eq!(recorder.outline(), expected);
}

/// The error of the authentication is not that of the command, which is sent once.
#[tokio::test]
async fn an_error_of_the_reauthentication_is_on_the_span_of_the_operation() {
    let builder = TestServer::builder().auth("root", "hunter2");
    let server = builder.start().await.expect("a server");
    let uri = format!("{}?retryReads=false&appName=again&maxPoolSize=1", server.uri());
    let recorder = SpanRecorder::default();
    let mut options = ClientOptions::parse(&uri).unwrap();
    recorder.observe(&mut options);
    let client = Client::with_options(options).unwrap();
    let things = client.database("d").collection::<Document>("c");
    things.find_one(doc! {}).await.unwrap();
    let admin = Client::connect(server.uri()).await.unwrap().database("admin");
    let point = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 2 },
        "data": { "failCommands": ["find", "saslStart"], "errorCode": 391, "appName": "again" },
    };
    admin.run_command(point).await.unwrap();
    let error = things.find_one(doc! {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Authentication(_)), "{error:?}");
    assert_eq!(recorder.outline()[1], "find d.c (find)");
    let operation = &recorder.roots()[1];
    let kind = operation.text("exception.type");
    assert_eq!(kind.as_deref(), Some("marula_driver::ErrorKind::Authentication"));
}
