//! Prose tests of Retryable Reads.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use marula_driver::{
    RETRYABLE_ERROR,
    bson::{Document, doc},
    internals::fix_jitter,
    options::ClientOptions,
};
use marula_driver_tests::{replica_set, standalone};
use marula_test_server::TestServer;
use tokio::sync::Semaphore;

use crate::prose::stage::{After, OVERLOADED, Second, Stage, error, fail, observe, times, wait_until_known};

fn unchanged(_: &mut ClientOptions) {}

#[tokio::test]
async fn retryable_reads_prose_1() {
    let deployment = standalone().await;
    let uri = deployment.server.uri();
    let stage = Stage::new(
        &format!("{uri}?maxPoolSize=1&retryReads=true&heartbeatFrequencyMS=500"),
        "find",
        None,
        unchanged,
    );
    stage.client.list_database_names().await.unwrap();
    stage.reset();
    let data =
        doc! { "failCommands": ["find"], "errorCode": 91, "blockConnection": true, "blockTimeMS": 2000 };
    fail(&uri, times(1), data).await;
    // The second find begins when the first has checked out the connection.
    let (first, second) = tokio::join!(stage.find(), async {
        deployment.server.wait_for_command("find", 1).await;
        stage.find().await
    });
    first.unwrap();
    second.unwrap();
    stage.assert_pool_cleared_in_between();
}

#[tokio::test]
async fn retryable_reads_prose_2_1() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    // Repeated, because a random selection could pass once by chance.
    for _ in 0..5 {
        for uri in server.member_uris() {
            fail(&uri, times(1), error("find", 6, &[])).await;
        }
        let known = Arc::new(Semaphore::new(0));
        let stage = Stage::new(
            &format!("{}?retryReads=true", server.uri()),
            "find",
            None,
            observe(&known),
        );
        wait_until_known(&known, 2).await;
        stage.find().await.unwrap_err();
        stage.assert_failed_on_two();
    }
}

#[tokio::test]
async fn retryable_reads_prose_2_2() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let uri = &server.member_uris()[0];
    fail(uri, times(1), error("find", 6, &[])).await;
    let options = "directConnection=false&retryReads=true";
    let stage = Stage::new(&format!("{uri}?{options}"), "find", None, unchanged);
    stage.find().await.unwrap();
    let (failed, succeeded) = stage.failed_then_succeeded();
    assert_eq!(failed, succeeded);
}

/// Runs a read that fails on the primary. Returns whether the retry used another member.
async fn uses_another_member(labels: &[&str], retarget: bool) -> bool {
    let deployment = replica_set().await;
    let uri = deployment.server.uri();
    let options = "retryReads=true&readPreference=primaryPreferred";
    let stage = Stage::new(&format!("{uri}&{options}"), "find", None, |options| {
        options.enable_overload_retargeting = retarget;
        fix_jitter(options, 0.0);
    });
    stage.find().await.expect("a read");
    stage.reset();
    fail(&uri, times(1), error("find", 6, labels)).await;
    stage.find().await.expect("a retried read");
    let (failed, succeeded) = stage.failed_then_succeeded();
    failed != succeeded
}

#[tokio::test]
async fn retryable_reads_prose_3_1() {
    assert!(uses_another_member(&OVERLOADED, true).await);
}

#[tokio::test]
async fn retryable_reads_prose_3_2() {
    assert!(!uses_another_member(&[RETRYABLE_ERROR], false).await);
}

#[tokio::test]
async fn retryable_reads_prose_3_3() {
    assert!(!uses_another_member(&OVERLOADED, false).await);
}

/// Runs a read whose first attempt fails with an overload error, and all later ones with another
/// error. `jitter` is the factor of the backoff.
async fn find_with_two_errors(jitter: f64) -> (Stage, Duration) {
    let deployment = standalone().await;
    let uri = deployment.server.uri();
    let second = Second {
        after: After::Failure,
        mode: times(i32::MAX),
        data: error("find", 91, &[RETRYABLE_ERROR]),
    };
    let stage = Stage::new(
        &format!("{uri}?retryReads=true&heartbeatFrequencyMS=500"),
        "find",
        Some(second),
        |options| {
            fix_jitter(options, jitter);
        },
    );
    fail(&uri, times(1), error("find", 91, &OVERLOADED)).await;
    let begun = Instant::now();
    let failure = stage.find().await.expect_err("the retry fails, too");
    assert_eq!(failure.code(), Some(91), "{failure}");
    (stage, begun.elapsed())
}

#[tokio::test]
async fn retryable_reads_prose_4() {
    let (stage, _) = find_with_two_errors(0.0).await;
    assert_eq!(stage.started(), 3);
}

/// The backoff would be 200 ms for the first retry and 400 ms for the second; here both are ten
/// times longer, so that they can be distinguished on a slow machine.
#[tokio::test]
async fn retryable_reads_prose_5() {
    let (stage, took) = find_with_two_errors(10.0).await;
    assert_eq!(stage.started(), 3);
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert!(took < Duration::from_secs(6), "a second backoff: {took:?}");
}

#[tokio::test]
async fn find_one_returns_the_result_of_the_retry() {
    let deployment = standalone().await;
    let uri = deployment.server.uri();
    let stage = Stage::new(
        &format!("{uri}?heartbeatFrequencyMS=500"),
        "find",
        None,
        unchanged,
    );
    stage.insert().await.unwrap();
    fail(&uri, times(1), error("find", 91, &[])).await;
    let found = stage
        .things()
        .find_one(doc! {})
        .projection(doc! { "_id": 0 })
        .await;
    assert_eq!(found.unwrap(), Some(doc! { "a": 1 }));
    assert_eq!(stage.started(), 2);
    let none: Option<Document> = stage.things().find_one(doc! { "a": 2 }).await.unwrap();
    assert_eq!(none, None);
}
