//! Proxies that break the protocol at each byte, and proxies that refuse the connection.

use std::{io, sync::Arc, time::Duration};

use marula_driver::{
    Error, ErrorKind, NetworkPhase, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR, ServerAddress,
    internals::{ConnectionSettings, Pool, PoolListener, PoolSettings, cmap, handshake::client_metadata},
    options,
};
use marula_driver_tests::{
    ClosedPort,
    socks5::{Socks5Fault, Socks5Proxy, Socks5Settings},
    standalone,
};

use super::attempt;

const LONG: Duration = Duration::from_secs(60);

/// The kind and text of the error of a connection through the proxy.
async fn failure(proxy: &Socks5Proxy, options: &str, connect_timeout: Duration) -> (io::ErrorKind, String) {
    let options = format!("{}&{options}", proxy.options());
    let error = attempt("127.0.0.1:9", &options, connect_timeout)
        .await
        .expect_err("a fault");
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(network.phase(), NetworkPhase::Proxy, "{error}");
    assert!(error.is_unavailable() && error.is_network(), "{error}");
    assert!(
        error.to_string().contains("127.0.0.1:9"),
        "{error} names the server"
    );
    (network.io_kind(), error.to_string())
}

#[tokio::test]
async fn a_proxy_that_closes_after_any_byte_is_reported() {
    let server = standalone().await.server;
    let address = server.addresses()[0].to_string();
    // The method selection, the reply to the authentication, and the reply to the request.
    for (login, length) in [(None, 12), (Some(("ada".to_owned(), "p".to_owned())), 14)] {
        for cut in 0..length {
            let proxy = Socks5Proxy::start(Socks5Settings {
                login: login.clone(),
                fault: Socks5Fault::CutAfter(cut),
                ..Socks5Settings::default()
            })
            .await;
            let options = format!("{}&proxyUsername=ada&proxyPassword=p", proxy.options());
            let error = attempt(&address, &options, LONG).await.expect_err("a cut");
            let ErrorKind::Network(network) = error.kind() else {
                panic!("{cut}: {error}");
            };
            assert_eq!(network.phase(), NetworkPhase::Proxy, "{cut}: {error}");
            assert_eq!(network.io_kind(), io::ErrorKind::UnexpectedEof, "{cut}: {error}");
            assert!(error.to_string().contains("the proxy closed"), "{cut}: {error}");
        }
    }
    assert_eq!(server.commands_seen("hello"), 0, "the server receives no command");
}

#[tokio::test]
async fn every_reply_code_is_reported() {
    for (code, words, kind) in [
        (1, "general failure", io::ErrorKind::Other),
        (2, "not allowed", io::ErrorKind::PermissionDenied),
        (3, "network unreachable", io::ErrorKind::NetworkUnreachable),
        (4, "host unreachable", io::ErrorKind::HostUnreachable),
        (5, "connection refused", io::ErrorKind::ConnectionRefused),
        (6, "time to live", io::ErrorKind::HostUnreachable),
        (7, "command not supported", io::ErrorKind::Unsupported),
        (8, "address type not supported", io::ErrorKind::Unsupported),
        (77, "unknown reason (77)", io::ErrorKind::Other),
    ] {
        let proxy = Socks5Proxy::misbehaving(Socks5Fault::Refuse(code)).await;
        let (found, text) = failure(&proxy, "", LONG).await;
        assert_eq!(found, kind, "{text}");
        assert!(text.contains(words), "{text}");
    }
    // Nothing listens on port 9, which the proxy reports.
    let honest = Socks5Proxy::misbehaving(Socks5Fault::None).await;
    assert_eq!(
        failure(&honest, "", LONG).await.0,
        io::ErrorKind::ConnectionRefused
    );
}

#[tokio::test]
async fn authentication_errors_do_not_contain_the_password() {
    let proxy = Socks5Proxy::start(Socks5Settings {
        login: Some(("ada".to_owned(), "right".to_owned())),
        ..Socks5Settings::default()
    })
    .await;
    let (kind, text) = failure(&proxy, "", LONG).await;
    assert_eq!(kind, io::ErrorKind::PermissionDenied);
    assert!(text.contains("set proxyUsername and proxyPassword"), "{text}");
    let (kind, text) = failure(&proxy, "proxyUsername=ada&proxyPassword=s3cr3t", LONG).await;
    assert_eq!(kind, io::ErrorKind::PermissionDenied);
    assert!(
        text.contains("refused proxyUsername") && !text.contains("s3cr3t"),
        "{text}"
    );
    assert_eq!(proxy.offers(), [vec![0], vec![0, 2]]);

    for method in [1, 2, 0x80] {
        let proxy = Socks5Proxy::misbehaving(Socks5Fault::Method(method)).await;
        let (kind, text) = failure(&proxy, "", LONG).await;
        assert_eq!(kind, io::ErrorKind::InvalidData);
        assert!(text.contains("not offered"), "{text}");
    }
}

#[tokio::test]
async fn invalid_replies_are_reported() {
    for bytes in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        vec![4, 0],
        vec![0; 4096],
        vec![0x16, 3, 3, 0, 2],
    ] {
        let proxy = Socks5Proxy::misbehaving(Socks5Fault::Bytes(bytes)).await;
        let (kind, text) = failure(&proxy, "", LONG).await;
        assert_eq!(kind, io::ErrorKind::InvalidData);
        assert!(text.contains("does not speak SOCKS5"), "{text}");
    }
    let odd = Socks5Proxy::start(Socks5Settings {
        fault: Socks5Fault::BoundAddress(9, vec![0; 4]),
        ..Socks5Settings::default()
    })
    .await;
    let server = standalone().await.server;
    let error = attempt(&server.addresses()[0].to_string(), &odd.options(), LONG).await;
    let error = error.expect_err("no such type of address");
    assert!(error.to_string().contains("unknown type 9"), "{error}");
}

#[tokio::test]
async fn timeouts_and_resets_are_reported() {
    let silent = Socks5Proxy::misbehaving(Socks5Fault::Hang).await;
    let (kind, text) = failure(&silent, "", Duration::from_millis(50)).await;
    assert_eq!(kind, io::ErrorKind::TimedOut);
    assert!(text.contains("connectTimeoutMS (50ms)"), "{text}");
    let resetting = Socks5Proxy::misbehaving(Socks5Fault::Reset).await;
    assert_eq!(
        failure(&resetting, "", LONG).await.0,
        io::ErrorKind::ConnectionReset
    );
}

struct Ignored;

impl PoolListener for Ignored {
    fn handshake_failed(&self, _: &ServerAddress, _: cmap::ConnectionKey, _: &Error) {}
}

/// The error of a check-out from a pool whose connections cannot be established.
async fn pool_failure(server: &str, proxy: Option<options::Proxy>) -> Error {
    let settings = ConnectionSettings {
        proxy,
        ..ConnectionSettings::new(LONG, client_metadata(None).expect("metadata"))
    };
    let listener: Arc<dyn PoolListener> = Arc::new(Ignored);
    let pool = Pool::new(
        server.parse().expect("an address"),
        PoolSettings::default(),
        settings,
        Arc::downgrade(&listener),
    );
    pool.ready();
    pool.check_out(None).await.expect_err("no connection")
}

#[tokio::test]
async fn a_failure_of_the_proxy_has_no_overload_labels() {
    let closed = ClosedPort::new();
    let address = closed.address();
    let labels = [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR];
    let direct = pool_failure(&address.to_string(), None).await;
    assert!(
        labels.iter().all(|label| direct.contains_label(label)),
        "{direct}"
    );

    let mut absent = options::Proxy::new("127.0.0.1");
    absent.port = Some(address.port());
    let mut failures = vec![pool_failure("127.0.0.1:9", Some(absent)).await];
    for fault in [
        Socks5Fault::CutAfter(0),
        Socks5Fault::Reset,
        Socks5Fault::Refuse(5),
        Socks5Fault::Refuse(1),
    ] {
        let proxy = Socks5Proxy::misbehaving(fault).await;
        let mut through = options::Proxy::new("127.0.0.1");
        through.port = Some(proxy.address.port());
        failures.push(pool_failure("127.0.0.1:9", Some(through)).await);
    }
    for error in failures {
        assert!(error.is_network(), "{error}");
        assert!(!labels.iter().any(|label| error.contains_label(label)), "{error}");
    }
}
