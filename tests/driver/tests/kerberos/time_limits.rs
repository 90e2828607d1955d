//! A key distribution center that accepts connections and does not answer.

use std::fs;

use marula_driver::KerberosFailure;
use tokio::net::TcpListener;

use crate::{
    kdc::{ADA, configuration},
    support::{assert_kerberos, client_with, error_of, options_of, server, user_of},
};

/// Replaces the KDC by one that is silent. Connections are accepted by the system.
async fn silence() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let path = std::env::var("KRB5_CONFIG").expect("the path of the configuration");
    fs::write(path, configuration(port)).expect("the configuration is written");
    listener
}

pub(crate) async fn a_silent_kdc_ends_with_the_time_limit() {
    let _silence = silence().await;
    let server = server().await;
    let error = error_of(&server, ADA, "connectTimeoutMS=1500").await;
    assert_kerberos(&error, KerberosFailure::NoAnswer, "does not answer");
    assert!(!error.is_timeout());
    let error = error_of(&server, ADA, "timeoutMS=1500").await;
    assert!(error.is_timeout(), "{error:?}");
    let text = format!("{error:#}");
    let named = format!("authentication of user {ADA:?} (authSource=$external) by GSSAPI wait");
    assert!(
        text.contains(&named) && text.contains("the Kerberos library"),
        "{text}"
    );
    assert_eq!(server.commands_seen("saslStart"), 0);
}

pub(crate) async fn a_dropped_client_closes_its_connection() {
    let silence = silence().await;
    let server = server().await;
    let client = client_with(options_of(&server, ADA, "connectTimeoutMS=0"));
    let operation = tokio::spawn(async move { user_of(&client).await });
    // The library has sent its request.
    let (_request, _) = silence.accept().await.expect("a request");
    operation.abort();
    assert!(operation.await.expect_err("a failure").is_cancelled());
    server.wait_for_open_connections(0).await;
}
