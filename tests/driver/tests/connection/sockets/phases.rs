//! The error of each phase of connection establishment.

use std::{io, net::SocketAddr, time::Duration};

use marula_driver::{
    ErrorKind, NetworkPhase,
    internals::{Connection, ConnectionSettings, TlsConfig, handshake::client_metadata},
    options::{ClientOptions, Proxy},
};
use marula_driver_tests::socks5::{Socks5Fault, Socks5Proxy};
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
};

use super::LONG;

/// What the server behavior after it has read something.
#[derive(Clone, Copy, Debug)]
enum Behavior {
    Close,
    Reset,
    Nothing,
}

async fn server(behavior: Behavior) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, behavior));
        }
    });
    address
}

async fn serve(mut stream: TcpStream, behavior: Behavior) {
    // The largest first message of both clients.
    let mut some = [0; 4096];
    if stream.read(&mut some).await.is_err() {
        return;
    }
    match behavior {
        Behavior::Close => {}
        Behavior::Reset => stream.set_zero_linger().expect("an open socket"),
        Behavior::Nothing => while matches!(stream.read(&mut some).await, Ok(count) if count > 0) {},
    }
}

/// Checks the table of phases, with a direct connection and through a proxy.
#[tokio::test]
async fn errors_have_the_phase_and_the_io_kind() {
    let socks5 = Socks5Proxy::misbehaving(Socks5Fault::None).await;
    let mut through = Proxy::new("127.0.0.1");
    through.port = Some(socks5.address.port());
    for (behavior, limit, kind) in [
        (Behavior::Close, LONG, io::ErrorKind::UnexpectedEof),
        (Behavior::Reset, LONG, io::ErrorKind::ConnectionReset),
        (Behavior::Nothing, Duration::from_secs(1), io::ErrorKind::TimedOut),
    ] {
        let address = server(behavior).await;
        for (tls, phase) in [
            ("tls=false", NetworkPhase::Handshake),
            ("tls=true&tlsInsecure=true", NetworkPhase::TlsHandshake),
        ] {
            for proxy in [None, Some(through.clone())] {
                let parsed = ClientOptions::parse(&format!("mongodb://h/?{tls}")).expect("options");
                let tls = parsed.tls.enabled == Some(true);
                let settings = ConnectionSettings {
                    tls: tls.then(|| TlsConfig::new(&parsed.tls).expect("settings")),
                    proxy: proxy.clone(),
                    ..ConnectionSettings::new(limit, client_metadata(None).expect("metadata"))
                };
                let server = address.to_string().parse().expect("an address");
                let error = Connection::establish(&server, &settings).await.map(drop);
                let error = error.expect_err("a fault");
                let ErrorKind::Network(network) = error.kind() else {
                    panic!("{behavior:?}: {error}");
                };
                assert_eq!(network.phase(), phase, "{behavior:?}, proxy {proxy:?}: {error}");
                // Behind a proxy, a reset appears as the end of the stream.
                if proxy.is_none() || !matches!(behavior, Behavior::Reset) {
                    assert_eq!(network.io_kind(), kind, "{behavior:?}, proxy {proxy:?}: {error}");
                }
                assert_eq!(error.address(), Some(&server), "{error}");
                assert_eq!(
                    error.is_timeout(),
                    matches!(behavior, Behavior::Nothing),
                    "{error}"
                );
            }
        }
    }
}
