//! Each phase of establishing a connection has its own error.

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

/// What a server does once it has read something.
#[derive(Clone, Copy, Debug)]
enum Does {
    Close,
    Reset,
    Nothing,
}

async fn server(does: Does) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, does));
        }
    });
    address
}

async fn serve(mut stream: TcpStream, does: Does) {
    // All of what either client begins with.
    let mut some = [0; 4096];
    if stream.read(&mut some).await.is_err() {
        return;
    }
    match does {
        Does::Close => {}
        Does::Reset => stream.set_zero_linger().expect("an open socket"),
        Does::Nothing => while matches!(stream.read(&mut some).await, Ok(count) if count > 0) {},
    }
}

/// The table of phases, straight to the server and through a proxy.
#[tokio::test]
async fn every_step_has_its_phase_and_every_failure_its_kind() {
    let socks5 = Socks5Proxy::misbehaving(Socks5Fault::None).await;
    let mut through = Proxy::new("127.0.0.1");
    through.port = Some(socks5.address.port());
    for (does, limit, kind) in [
        (Does::Close, LONG, io::ErrorKind::UnexpectedEof),
        (Does::Reset, LONG, io::ErrorKind::ConnectionReset),
        (Does::Nothing, Duration::from_secs(1), io::ErrorKind::TimedOut),
    ] {
        let address = server(does).await;
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
                    panic!("{does:?}: {error}");
                };
                assert_eq!(network.phase(), phase, "{does:?}, proxy {proxy:?}: {error}");
                // Behind a proxy, a reset is an end.
                if proxy.is_none() || !matches!(does, Does::Reset) {
                    assert_eq!(network.io_kind(), kind, "{does:?}, proxy {proxy:?}: {error}");
                }
                assert_eq!(error.address(), Some(&server), "{error}");
                assert_eq!(error.is_timeout(), matches!(does, Does::Nothing), "{error}");
            }
        }
    }
}
