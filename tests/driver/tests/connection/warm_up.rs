//! Connections that are established before they are needed.

use std::time::Duration;

use futures_util::FutureExt;
use marula_driver::{
    Client, ErrorKind, NetworkPhase, bson::doc, internals::wait_for_description, options::ClientOptions,
};
use marula_driver_tests::{Counts, PoolTally, Proxy, proxy::Action};
use marula_test_server::TestServer;

const LONG: Duration = Duration::from_secs(60);

fn tallied(uri: &str, options: &str) -> (Client, PoolTally) {
    let separator = if uri.contains('?') { '&' } else { '?' };
    let mut options = ClientOptions::parse(&format!("{uri}{separator}{options}")).expect("options");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    (Client::with_options(options).expect("a client"), tally)
}

#[tokio::test]
async fn every_data_bearing_server_gets_connections() {
    let all = [
        ("standalone", TestServer::builder().standalone(), 1),
        ("replica set", TestServer::builder().replica_set(), 3),
        ("sharded cluster", TestServer::builder().sharded(), 2),
        ("load balancer", TestServer::builder().load_balanced(), 1),
    ];
    for (name, builder, servers) in all {
        let server = builder.auth("user", "secret").start().await.expect("a server");
        let (client, tally) = tallied(&server.uri(), "minPoolSize=3");
        client.warm_up().await.expect("connections");
        let counts = tally.counts();
        assert_eq!(counts.ready, 3 * servers, "{name}: {counts:?}");
        assert_eq!(counts.check_outs, 0, "{name}");
        // Idempotent, and more on request.
        client.warm_up().await.expect("connections");
        assert_eq!(tally.counts(), counts, "{name}: nothing is sent");
        client.warm_up().connections(5).await.expect("connections");
        assert_eq!(tally.counts().ready, 5 * servers, "{name}");
        client
            .database("admin")
            .run_command(doc! { "ping": 1 })
            .await
            .expect("a reply");
        assert_eq!(
            tally.counts().created,
            5 * servers,
            "{name}: the connections are used"
        );
        client.shutdown().await;
        tally.wait_until(Counts::is_at_rest).await;
        tally.assert_nothing_left();
    }
}

#[tokio::test]
async fn servers_out_of_reach_do_not_fail_it() {
    let server = TestServer::builder().replica_set().start().await.expect("a set");
    server.stop_member(2).await;
    let (client, tally) = tallied(&server.uri(), "");
    client.warm_up().await.expect("connections to two members");
    assert_eq!(tally.counts().ready, 2, "one to each");
    // A member that does not answer.
    let silent = Proxy::start(server.addresses()[0]).await;
    silent.set_rule(|_| Action::Hang);
    let uri = format!("mongodb://{},{}/", server.addresses()[1], silent.address());
    let (client, tally) = tallied(&uri, "");
    let warm_up = client.warm_up().timeout(LONG);
    warm_up.await.expect("connections to the others");
    assert!(tally.counts().ready > 0);
}

#[tokio::test]
async fn errors_are_typed() {
    let server = TestServer::builder()
        .standalone()
        .auth("user", "secret")
        .start()
        .await
        .expect("a server");
    let uri = server.uri().replace("secret", "wrong");
    let (client, tally) = tallied(&uri, "");
    let error = client.warm_up().await.expect_err("wrong password");
    assert!(matches!(error.kind(), ErrorKind::Authentication(_)), "{error}");
    assert_eq!(tally.counts().ready, 0);
    let (client, _) = tallied(&server.uri(), "maxPoolSize=3");
    let error = client.warm_up().connections(4).await.expect_err("too many");
    assert!(error.to_string().contains("maxPoolSize (3)"), "{error}");
    client
        .warm_up()
        .connections(3)
        .await
        .expect("as many as permitted");
    client.shutdown().await;
    let error = client.warm_up().await.expect_err("shut down");
    assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error}");
    // No server.
    let (client, _) = tallied("mongodb://127.0.0.1:9/", "serverSelectionTimeoutMS=50");
    let error = client.warm_up().await.expect_err("no server");
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    let error = client.warm_up().timeout(Duration::from_millis(50)).await;
    let error = error.expect_err("no server");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
}

/// A proxy that lets the monitor pass and applies an action to handshakes of the pool.
async fn pool_handshakes(action: impl Fn() -> Action + Send + 'static) -> (TestServer, Proxy) {
    let server = TestServer::builder()
        .standalone()
        .start()
        .await
        .expect("a server");
    let proxy = Proxy::start(server.addresses()[0]).await;
    proxy.set_rule(move |exchange| {
        if exchange.connection > 0 {
            action()
        } else {
            Action::Pass
        }
    });
    (server, proxy)
}

#[tokio::test]
async fn a_connection_that_fails_fails_it() {
    let (_server, proxy) = pool_handshakes(|| Action::DropRequest).await;
    let (client, tally) = tallied(&proxy.uri("heartbeatFrequencyMS=500"), "");
    let error = client.warm_up().await.expect_err("closed");
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(network.phase(), NetworkPhase::Handshake);
    proxy.pass_everything();
    client.warm_up().connections(2).await.expect("repeated");
    assert!(tally.counts().ready >= 2);
}

#[tokio::test]
async fn it_ends_in_time_and_its_connections_remain() {
    let (_server, proxy) = pool_handshakes(|| Action::Stepwise(vec![16])).await;
    let (client, tally) = tallied(&proxy.uri(""), "");
    wait_for_description(&client, |text| text.contains("Standalone")).await;
    let error = client.warm_up().timeout(Duration::from_millis(200)).await;
    let error = error.expect_err("no handshake completes");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
    let mut dropped = client.warm_up().connections(2).into_future();
    assert!((&mut dropped).now_or_never().is_none());
    drop(dropped);
    proxy.pass_everything();
    proxy.end_waits();
    tally.wait_until(|counts| counts.ready == 2).await;
    let admin = client.database("admin");
    let ping = admin.run_command(doc! { "ping": 1 });
    tokio::time::timeout(LONG, ping.into_future())
        .await
        .expect("in time")
        .expect("a reply");
    assert_eq!(tally.counts().created, 2, "the connections are used");
}
