//! Prose tests of Retryable Writes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use marula_driver::{
    Error, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR, SYSTEM_OVERLOADED_ERROR,
    bson::{Document, doc},
    internals::fix_jitter,
    options::ClientOptions,
};
use marula_driver_tests::{Observer, replica_set};
use marula_test_server::TestServer;
use tokio::sync::Semaphore;

use crate::prose::stage::{After, OVERLOADED, Second, Stage, error, fail, observe, times, wait_until_known};

const NO_WRITES_PERFORMED: &str = "NoWritesPerformed";

fn unchanged(_: &mut ClientOptions) {}

#[tokio::test]
async fn retryable_writes_prose_1() {
    let hello = doc! { "setName": "rs", "hosts": ["127.0.0.1:1"], "logicalSessionTimeoutMinutes": 30 };
    let observer = Observer::start(hello).await;
    observer.refuse(
        "insert",
        doc! { "ok": 0, "code": 20, "codeName": "IllegalOperation",
        "errmsg": "Transaction numbers are only allowed on a replica set member or mongos" },
    );
    let uri = observer.uri("directConnection=true");
    let stage = Stage::new(&uri, "insert", None, unchanged);
    let failure = stage.insert().await.unwrap_err();
    assert_eq!(failure.code(), Some(20));
    let expected = "This MongoDB deployment does not support retryable writes. Please add retryWrites=false to your \
                    connection string.";
    assert!(failure.to_string().contains(expected), "{failure}");
    assert_eq!(stage.started(), 1);
    // Without a transaction number, the message of the server is unchanged.
    let stage = Stage::new(&format!("{uri}&retryWrites=false"), "insert", None, unchanged);
    let failure = stage.insert().await.unwrap_err();
    assert!(failure.to_string().contains("Transaction numbers"), "{failure}");
}

#[tokio::test]
async fn retryable_writes_prose_2() {
    let deployment = replica_set().await;
    let uri = deployment.server.uri();
    let stage = Stage::new(
        &format!("{uri}&maxPoolSize=1&retryWrites=true&heartbeatFrequencyMS=500"),
        "insert",
        None,
        unchanged,
    );
    stage.client.list_database_names().await.unwrap();
    stage.reset();
    let mut data = error("insert", 91, &[RETRYABLE_WRITE_ERROR]);
    data.extend(doc! { "blockConnection": true, "blockTimeMS": 2000 });
    fail(&uri, times(1), data).await;
    let (first, second) = tokio::join!(stage.insert(), async {
        deployment.server.wait_for_command("insert", 1).await;
        stage.insert().await
    });
    first.unwrap();
    second.unwrap();
    stage.assert_pool_cleared_in_between();
}

#[tokio::test]
async fn retryable_writes_prose_3() {
    let second = Second {
        after: After::Success,
        mode: times(1),
        data: error("insert", 10107, &[RETRYABLE_WRITE_ERROR, NO_WRITES_PERFORMED]),
    };
    let deployment = replica_set().await;
    let uri = deployment.server.uri();
    let stage = Stage::new(
        &format!("{uri}&retryWrites=true&heartbeatFrequencyMS=500"),
        "insert",
        Some(second),
        unchanged,
    );
    let concern = doc! { "code": 91, "errmsg": "Replication is being shut down" };
    let first = doc! {
        "failCommands": ["insert"], "errorLabels": [RETRYABLE_WRITE_ERROR], "writeConcernError": concern,
    };
    fail(&uri, times(1), first).await;
    let failure = stage.insert().await.unwrap_err();
    assert_eq!(
        failure.write_concern_error().map(|error| error.code),
        Some(91),
        "{failure}"
    );
    assert_eq!(stage.started(), 2);
}

#[tokio::test]
async fn retryable_writes_prose_4() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    for _ in 0..5 {
        for uri in server.member_uris() {
            fail(&uri, times(1), error("insert", 6, &[RETRYABLE_WRITE_ERROR])).await;
        }
        let uri = format!("{}?retryWrites=true", server.uri());
        let known = Arc::new(Semaphore::new(0));
        let stage = Stage::new(&uri, "insert", None, observe(&known));
        wait_until_known(&known, 2).await;
        stage.insert().await.unwrap_err();
        stage.assert_failed_on_two();
    }
}

#[tokio::test]
async fn retryable_writes_prose_5() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let uri = &server.member_uris()[0];
    let mut data = error("insert", 6, &[RETRYABLE_WRITE_ERROR]);
    data.insert("closeConnection", true);
    fail(uri, times(1), data).await;
    let options = "directConnection=false&retryWrites=true";
    let stage = Stage::new(&format!("{uri}?{options}"), "insert", None, unchanged);
    stage.insert().await.unwrap();
    let (failed, succeeded) = stage.failed_then_succeeded();
    assert_eq!(failed, succeeded);
}

/// Runs an insert that fails first with code 91, and then always with the second error.
async fn insert_with_two_errors(
    first: &[&str],
    code: i32,
    second: &[&str],
    jitter: f64,
) -> (Stage, Error, Duration) {
    let deployment = replica_set().await;
    let uri = deployment.server.uri();
    let second = Second {
        after: After::Failure,
        mode: times(i32::MAX),
        data: error("insert", code, second),
    };
    let stage = Stage::new(
        &format!("{uri}&retryWrites=true&heartbeatFrequencyMS=500"),
        "insert",
        Some(second),
        |options| fix_jitter(options, jitter),
    );
    stage.client.list_database_names().await.expect("a reply");
    fail(&uri, times(1), error("insert", 91, first)).await;
    let begun = Instant::now();
    let failure = stage.insert().await.expect_err("the retry fails, too");
    (stage, failure, begun.elapsed())
}

#[tokio::test]
async fn retryable_writes_prose_6_1() {
    let (_, failure, _) = insert_with_two_errors(&OVERLOADED, 10107, &OVERLOADED, 0.0).await;
    assert_eq!(failure.code(), Some(10107), "{failure}");
}

#[tokio::test]
async fn retryable_writes_prose_6_2() {
    let labels = [RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR, NO_WRITES_PERFORMED];
    let (_, failure, _) = insert_with_two_errors(&labels, 10107, &labels, 0.0).await;
    assert_eq!(failure.code(), Some(91), "{failure}");
}

#[tokio::test]
async fn retryable_writes_prose_6_3() {
    let labels = [RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR, NO_WRITES_PERFORMED];
    let (_, failure, _) = insert_with_two_errors(&OVERLOADED, 91, &labels, 0.0).await;
    assert_eq!(failure.code(), Some(91), "{failure}");
    assert!(!failure.contains_label(NO_WRITES_PERFORMED), "{failure:?}");
}

#[tokio::test]
async fn retryable_writes_prose_6_4() {
    let labels = [RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR];
    let (stage, _, _) = insert_with_two_errors(&OVERLOADED, 91, &labels, 0.0).await;
    assert_eq!(stage.started(), 3);
}

/// As for reads: the backoff would be 200 ms and 400 ms.
#[tokio::test]
async fn retryable_writes_prose_6_5() {
    let labels = [RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR];
    let (stage, _, took) = insert_with_two_errors(&OVERLOADED, 91, &labels, 10.0).await;
    assert_eq!(stage.started(), 3);
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert!(took < Duration::from_secs(6), "a second backoff: {took:?}");
}

#[tokio::test]
async fn a_retried_write_is_executed_once() {
    let deployment = replica_set().await;
    let uri = deployment.server.uri();
    let stage = Stage::new(&uri, "insert", None, unchanged);
    let data = doc! { "failCommands": ["insert"], "closeConnection": true };
    fail(&uri, times(1), data).await;
    stage.insert().await.unwrap();
    let all: Vec<Document> = stage
        .things()
        .find(doc! {})
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(stage.started(), 2);
}
