//! `socketTimeoutMS` limits each read and write of a command.

use std::io;

use marula_driver::{
    Client, Error, NetworkPhase,
    bson::{Document, doc},
};
use marula_driver_tests::{
    Proxy,
    proxy::{Action, Exchange},
    standalone,
};

use super::network;

/// A server behind a proxy, and a client with a socketTimeoutMS of 700 ms.
async fn with_socket_timeout() -> (marula_driver_tests::Deployment, Proxy, Client) {
    let deployment = standalone().await;
    let proxy = Proxy::start(deployment.server.addresses()[0]).await;
    let client = Client::connect(proxy.uri("socketTimeoutMS=700&retryReads=false&retryWrites=false"))
        .await
        .expect("a client");
    (deployment, proxy, client)
}

fn check(error: &Error, phase: NetworkPhase) {
    assert_eq!(network(error), (phase, io::ErrorKind::TimedOut), "{error}");
    assert!(error.is_timeout() && error.is_network(), "{error}");
}

#[tokio::test]
async fn a_read_fails_after_socket_timeout() {
    let (_deployment, proxy, client) = with_socket_timeout().await;
    for shown in [0, 15, 16, 30] {
        proxy.set_rule(move |exchange| match exchange.command {
            "ping" => Action::Stepwise(vec![shown]),
            _ => Action::Pass,
        });
        let ping = client.database("admin").run_command(doc! { "ping": 1 }).await;
        check(&ping.expect_err("no whole reply"), NetworkPhase::Read);
        proxy.pass_everything();
        let again = client.database("admin").run_command(doc! { "ping": 1 }).await;
        again.unwrap_or_else(|error| panic!("a new connection works: {error}"));
    }
}

#[tokio::test]
async fn a_write_fails_after_socket_timeout() {
    let (_deployment, proxy, client) = with_socket_timeout().await;
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 0 }).await.expect("stored");
    proxy.pause_requests();
    // Larger than the socket buffers.
    let large: Vec<Document> = (1..4)
        .map(|id| doc! { "_id": id, "x": "x".repeat(15_000_000) })
        .collect();
    let error = things.insert_many(&large).await.expect_err("no reader");
    check(&error, NetworkPhase::Write);
    proxy.resume_requests();
}

#[tokio::test]
async fn socket_timeout_applies_to_get_more() {
    let (_deployment, proxy, client) = with_socket_timeout().await;
    let things = client.database("d").collection::<Document>("things");
    let documents: Vec<Document> = (0..5).map(|id| doc! { "_id": id }).collect();
    things.insert_many(&documents).await.expect("stored");
    let mut cursor = things.find(doc! {}).batch_size(2).await.expect("a cursor");
    proxy.set_rule(|exchange: &Exchange<'_>| match exchange.command {
        "getMore" => Action::Hang,
        _ => Action::Pass,
    });
    let error = loop {
        match cursor.advance().await {
            Ok(more) => assert!(more, "five documents were stored"),
            Err(error) => break error,
        }
    };
    check(&error, NetworkPhase::Read);
}
