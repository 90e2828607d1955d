//! Dropping the establishment of a connection at each poll: DNS lookup, connect, TLS handshake,
//! hello, authentication.

use std::{net::SocketAddr, time::Duration};

use marula_driver::{
    ServerAddress,
    internals::{
        Condition, Connection, ConnectionSettings, LoginSettings, TlsConfig,
        auth::{Identity, Mechanism, ScramHash},
        handshake::client_metadata,
    },
    options::ClientOptions,
};
use marula_driver_tests::{
    Proxy,
    polling::{Gate, Held, poll_times},
    proxy::Action,
    slow_writes::SlowWrites,
    tasks,
    tls::{Authority, Files, TlsTerminator},
};
use marula_test_server::TestServer;

use super::harness::{ENDS, PIECES, TIME_LIMIT};

async fn server() -> TestServer {
    TestServer::builder()
        .standalone()
        .parameter("scramIterationCount", 4096)
        .parameter("scramSHA256IterationCount", 4096)
        .auth("user", "secret")
        .start()
        .await
        .expect("a server")
}

/// Settings with authentication. The salted password is computed for each of them.
fn settings(hash: ScramHash) -> ConnectionSettings {
    let mechanism = Some(Mechanism::Scram(hash));
    let identity = Identity::new(mechanism, "admin", Some("user"), Some("secret"));
    ConnectionSettings {
        login: Some(LoginSettings::new(identity)),
        ..ConnectionSettings::new(Duration::ZERO, client_metadata(None).expect("metadata"))
    }
}

/// A host name, so that it is looked up.
fn address_of(address: SocketAddr) -> ServerAddress {
    let text = format!("localhost:{}", address.port());
    text.parse().expect("an address")
}

/// Establishes a connection repeatedly, each time with one more poll. Returns how often it was
/// dropped.
async fn drop_at_every_poll(
    address: SocketAddr,
    settings: impl Fn() -> ConnectionSettings,
    gate: &impl Gate,
    server: &TestServer,
    all_closed: impl AsyncFn(),
) -> usize {
    let address = address_of(address);
    let alive = tasks::alive();
    for polls in 0.. {
        let settings = settings();
        let opening = Box::pin(Connection::establish(&address, &settings));
        let outcome = tokio::time::timeout(TIME_LIMIT, poll_times(opening, polls, gate, Held::OfOthersToo))
            .await
            .unwrap_or_else(|_| panic!("poll {polls} does not end"));
        let done =
            outcome.map(|outcome| outcome.unwrap_or_else(|error| panic!("after {polls} polls: {error:?}")));
        if let Some(connection) = &done {
            assert_eq!(connection.condition(), Condition::Reusable);
        }
        let finished = done.is_some();
        drop(done);
        let ended = async {
            server.wait_for_open_connections(0).await;
            all_closed().await;
            tasks::wait_for_at_most(alive).await;
        };
        tokio::time::timeout(TIME_LIMIT, ended)
            .await
            .unwrap_or_else(|_| panic!("dropped after {polls} polls: a connection or task is left"));
        if finished {
            return polls;
        }
    }
    unreachable!("the loop ends when establishment completes")
}

async fn without_tls(hash: ScramHash) -> usize {
    let server = server().await;
    let proxy = Proxy::start(server.addresses()[0]).await;
    proxy.set_rule(|_| Action::Stepwise(ENDS.to_vec()));
    let closed = async || proxy.wait_for_at_most_open(0).await;
    drop_at_every_poll(proxy.address(), || settings(hash), &proxy, &server, closed).await
}

/// The replies to hello and saslContinue arrive in pieces. The DNS lookup, the connect and the key
/// derivation are also pending at some polls.
#[tokio::test]
async fn a_dropped_establishment_leaves_no_connection_and_no_task() {
    let polls = without_tls(ScramHash::Sha256).await;
    assert!(polls > 2 * PIECES, "{polls}");
}

#[tokio::test]
async fn a_dropped_establishment_with_scram_sha_1_leaves_no_connection_and_no_task() {
    let polls = without_tls(ScramHash::Sha1).await;
    assert!(polls > 2 * PIECES, "{polls}");
}

/// The TLS records arrive in pieces of this many bytes.
#[tokio::test]
async fn a_dropped_establishment_with_tls_leaves_no_connection_and_no_task() {
    const PIECE: usize = 100;
    let server = server().await;
    let (authority, files) = (Authority::new(), Files::new());
    let terminator = TlsTerminator::start(&authority.issue(&["localhost"]), server.addresses()[0]).await;
    let slow = SlowWrites::start(terminator.address, PIECE).await;
    let file = files.write("authority.pem", &authority.pem());
    let uri = format!("mongodb://localhost/?tls=true&tlsCAFile={file}");
    let options = ClientOptions::parse(&uri).expect("options");
    // The same settings for all, so that both full handshakes and resumed sessions occur.
    let tls = TlsConfig::new(&options.tls).expect("files");
    let encrypted = || ConnectionSettings {
        tls: Some(tls.clone()),
        ..settings(ScramHash::Sha256)
    };
    let closed = async || slow.wait_for_none_open().await;
    let polls = drop_at_every_poll(slow.address, encrypted, &slow, &server, closed).await;
    assert!(polls > 10, "{polls}");
    assert!(terminator.counts().encrypted > 0);
}
