//! The cache of OCSP responses, and requests that connections share.

use marula_driver_tests::ocsp::{Reply, Responder};
use tokio::task::JoinSet;

use super::*;

#[tokio::test]
async fn each_client_requests_a_response_once() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    responder.set_response(response(&authority, &identity, Status::Good, |_| {}));
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let uri = encrypted.uri(&format!("tlsCAFile={}", encrypted.ca_file));
    for clients in 1..=2 {
        // Two connections of the monitor, and one of the pool.
        let before = encrypted.terminator.counts().encrypted;
        ping(&uri).await.expect("a ping");
        assert!(encrypted.terminator.counts().encrypted >= before + 2);
        assert_eq!(responder.requests(), clients);
    }
}

#[tokio::test]
async fn a_revoked_status_is_cached() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    responder.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let settings = encrypted.settings("", LONG);
    for _ in 0..3 {
        let text = rejection(encrypted.connect(&settings).await);
        assert!(text.contains("according to the OCSP responder"), "{text}");
    }
    assert_eq!(responder.requests(), 1);
}

#[tokio::test]
async fn a_response_without_next_update_is_not_cached() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let settings = encrypted.settings("", LONG);
    for times in 1..=3 {
        responder.set_response(response(&authority, &identity, Status::Good, |response| {
            response.next_update = None;
        }));
        encrypted.connect(&settings).await.expect("a connection");
        assert_eq!(responder.requests(), times);
    }
    responder.set_response(response(&authority, &identity, Status::Revoked, |response| {
        response.next_update = None;
    }));
    rejection(encrypted.connect(&settings).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_connections_share_one_request() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let encrypted = Encrypted::bare(&authority, &identity).await;
    for status in [Status::Good, Status::Revoked] {
        responder.set_reply(Reply::Nothing);
        let (asked, counts) = (responder.requests(), encrypted.terminator.counts().encrypted);
        let settings = encrypted.settings("", LONG);
        let mut attempts = JoinSet::new();
        for _ in 0..32 {
            let (address, settings) = (encrypted.address(), settings.clone());
            attempts.spawn(async move { Connection::establish(&address, &settings).await.map(drop) });
        }
        encrypted
            .terminator
            .wait_until(|now| now.encrypted == counts + 32)
            .await;
        responder.wait_for_requests(asked + 1).await;
        responder.set_response(response(&authority, &identity, status, |_| {}));
        for outcome in attempts.join_all().await {
            match status {
                Status::Good => outcome.expect("a connection"),
                _ => drop(rejection(outcome)),
            }
        }
        assert_eq!(responder.requests(), asked + 1);
    }
}

#[tokio::test]
async fn a_waiting_connection_takes_over_the_request_of_a_dropped_one() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let settings = encrypted.settings("", LONG);
    let mut attempts = Vec::new();
    for _ in 0..2 {
        let (address, settings) = (encrypted.address(), settings.clone());
        let attempt = async move { Connection::establish(&address, &settings).await.map(drop) };
        attempts.push(tokio::spawn(attempt));
        // The first connection sends the request; the second waits for it.
        let count = attempts.len();
        encrypted
            .terminator
            .wait_until(|counts| counts.encrypted == count)
            .await;
        responder.wait_for_requests(1).await;
    }
    assert_eq!(responder.requests(), 1);
    let (first, second) = (attempts.remove(0), attempts.remove(0));
    first.abort();
    assert!(
        first
            .await
            .expect_err("the connection was dropped")
            .is_cancelled()
    );
    responder.wait_for_requests(2).await;
    responder.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let text = rejection(second.await.expect("no panic"));
    assert!(text.contains("was revoked at"), "{text}");
    assert_eq!(responder.requests(), 2);
}

#[tokio::test]
async fn a_resumed_session_is_checked() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    responder.set_response(response(&authority, &identity, Status::Good, |response| {
        response.next_update = None;
    }));
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let settings = encrypted.settings("", LONG);
    for _ in 0..2 {
        encrypted.connect(&settings).await.expect("a connection");
    }
    assert!(
        encrypted.terminator.counts().resumed > 0,
        "{:?}",
        encrypted.terminator.counts()
    );
    responder.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let resumed = encrypted.terminator.counts().resumed;
    rejection(encrypted.connect(&settings).await);
    encrypted
        .terminator
        .wait_until(|counts| counts.resumed > resumed)
        .await;
}
