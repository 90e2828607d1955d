//! Retryable Reads.

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

use crate::prose::stage::{After, OVERLOADED, Second, Stage, error, fail, observe, times, until_known};

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
    // The second begins when the first holds the connection.
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
    // By luck, a choice at random would pass once.
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
        until_known(&known, 2).await;
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

/// The read fails on the primary; returns whether the retry went to another member.
async fn goes_elsewhere(labels: &[&str], retarget: bool) -> bool {
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
    assert!(goes_elsewhere(&OVERLOADED, true).await);
}

#[tokio::test]
async fn retryable_reads_prose_3_2() {
    assert!(!goes_elsewhere(&[RETRYABLE_ERROR], false).await);
}

#[tokio::test]
async fn retryable_reads_prose_3_3() {
    assert!(!goes_elsewhere(&OVERLOADED, false).await);
}

/// The first attempt meets an overloaded server, all later ones another failure. Pauses last this part of their bound.
async fn two_stages(jitter: f64) -> (Stage, Duration) {
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
    let failure = stage.find().await.expect_err("the server goes on to fail");
    assert_eq!(failure.code(), Some(91), "{failure}");
    (stage, begun.elapsed())
}

#[tokio::test]
async fn retryable_reads_prose_4() {
    let (stage, _) = two_stages(0.0).await;
    assert_eq!(stage.started(), 3);
}

/// The first pause would be 200 ms, the second one 400 ms; here they are ten times as long, so that a slow machine takes none for
/// the other.
#[tokio::test]
async fn retryable_reads_prose_5() {
    let (stage, took) = two_stages(10.0).await;
    assert_eq!(stage.started(), 3);
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert!(took < Duration::from_secs(6), "a second pause: {took:?}");
}

#[tokio::test]
async fn a_found_document_is_the_one_that_the_retry_found() {
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
