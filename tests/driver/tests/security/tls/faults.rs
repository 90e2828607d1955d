//! Servers that break TLS, or do not use it.

use std::{io, net::SocketAddr, time::Duration};

use marula_driver::{Client, ErrorKind, NetworkPhase, bson::doc};
use marula_driver_tests::{
    Proxy,
    proxy::Action,
    standalone,
    tls::{Authority, TlsTerminator},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::{Encrypted, attempt, selection_error, works};

const LONG: Duration = Duration::from_secs(60);

/// A server that sends these bytes after the first message of the client, and then closes the
/// connection or waits for the client to close it.
async fn server_that_sends(bytes: &'static [u8], closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut begun = [0; 5];
                if stream.read_exact(&mut begun).await.is_err() {
                    return;
                }
                let _ = stream.write_all(bytes).await;
                if !closes {
                    let mut sink = [0; 1024];
                    while matches!(stream.read(&mut sink).await, Ok(count) if count > 0) {}
                }
            });
        }
    });
    address
}

/// The kind of an error in the TLS phase.
async fn failure(address: SocketAddr, options: &str, connect_timeout: Duration) -> io::ErrorKind {
    let error = attempt(address, options, connect_timeout)
        .await
        .expect_err("a fault");
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(network.phase(), NetworkPhase::TlsHandshake, "{error}");
    assert!(error.is_unavailable() && error.is_network());
    network.io_kind()
}

#[tokio::test]
async fn tls_errors_and_socket_errors_have_different_kinds() {
    let insecure = "tlsInsecure=true";
    let garbage = server_that_sends(b"HTTP/1.1 400 Bad Request\r\n\r\n", false).await;
    assert_eq!(failure(garbage, insecure, LONG).await, io::ErrorKind::InvalidData);

    // A fatal alert: handshake_failure.
    let alert = server_that_sends(&[21, 3, 3, 0, 2, 2, 40], false).await;
    assert_eq!(failure(alert, insecure, LONG).await, io::ErrorKind::InvalidData);

    // The first bytes of an incomplete record.
    let cut = server_that_sends(&[22, 3, 3, 0, 100, 2], true).await;
    let lost = failure(cut, insecure, LONG).await;
    let sockets = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
    assert!(sockets.contains(&lost), "{lost:?}");

    let silent = server_that_sends(b"", false).await;
    let limit = Duration::from_secs(1);
    assert_eq!(failure(silent, insecure, limit).await, io::ErrorKind::TimedOut);

    let encrypted = Encrypted::valid().await;
    let other = encrypted.files.write("other.pem", &Authority::new().pem());
    let untrusted = failure(encrypted.terminator.address, &format!("tlsCAFile={other}"), LONG).await;
    assert_eq!(untrusted, io::ErrorKind::InvalidData);
}

#[tokio::test]
async fn a_client_with_tls_cannot_use_a_server_without_tls() {
    let server = standalone().await.server;
    let port = server.addresses()[0].port();
    let text = selection_error(&format!(
        "mongodb://localhost:{port}/?tls=true&tlsInsecure=true&connectTimeoutMS=2000"
    ))
    .await;
    assert!(text.contains("could not be encrypted"), "{text}");
}

/// The text is the same as without TLS, and has no advice for authors of TLS servers.
#[tokio::test]
async fn an_end_without_close_notify_is_reported_as_a_closed_connection() {
    let server = standalone().await.server;
    let proxy = Proxy::start(server.addresses()[0]).await;
    proxy.set_rule(|exchange| match exchange.command {
        "ping" => Action::Silence,
        _ => Action::Pass,
    });
    let identity = Authority::new().issue(&["localhost"]);
    let terminator = TlsTerminator::start(&identity, proxy.address()).await;
    let port = terminator.address.port();
    let uri = format!("mongodb://localhost:{port}/?directConnection=true&tls=true&tlsInsecure=true");
    let client = Client::connect(uri).await.expect("a client");
    let admin = client.database("admin");
    let ping = tokio::spawn(async move { admin.run_command(doc! { "ping": 1 }).await });
    proxy.wait_for_requests("ping", 1).await;
    terminator.close_all();
    let error = ping
        .await
        .expect("no panic")
        .expect_err("the connection is closed");
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(network.phase(), NetworkPhase::Read);
    assert_eq!(network.io_kind(), io::ErrorKind::UnexpectedEof, "{error}");
    assert!(
        error.to_string().contains("the server closed the connection"),
        "{error}"
    );
    assert!(
        !format!("{error:?} {error:#}").contains("close_notify"),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_error_of_a_server_with_tls_suggests_tls_true() {
    let encrypted = Encrypted::valid().await;
    let port = encrypted.terminator.address.port();
    let text = selection_error(&format!("mongodb://localhost:{port}/?directConnection=true")).await;
    assert!(
        text.contains("handshake") && text.contains("set tls=true"),
        "{text}"
    );
    works(&encrypted.trusting("")).await;
}
