//! Servers that refuse, that fail, and that violate the mechanism.

use std::sync::Arc;

use marula_driver::{
    AuthenticationFailure, Client, ErrorKind, KerberosFailure, NetworkPhase,
    bson::{Binary, doc, spec::BinarySubtype},
};
use marula_driver_tests::{Answer, Request, ScriptedServer};
use marula_test_server::TestServer;

use crate::{
    acceptor::{Acceptor, Lie},
    kdc::{ADA, SPECIAL},
    support::{
        assert_kerberos, assert_logs_in, encoded, error_of, fail_once, failure, server, server_with, user_of,
    },
};

pub(crate) async fn a_server_that_closes_the_connection_is_a_network_error() {
    let server = server().await;
    for command in ["saslStart", "saslContinue"] {
        fail_once(&server, command, doc! { "closeConnection": true }).await;
        let error = error_of(&server, ADA, "").await;
        let ErrorKind::Network(network) = error.kind() else {
            panic!("{command}: {error:?}");
        };
        assert_eq!(network.phase(), NetworkPhase::Authentication);
        assert_logs_in(&server, ADA, "").await;
    }
}

pub(crate) async fn a_server_that_does_not_know_the_user_refuses() {
    let acceptor = Acceptor::new(Lie::None);
    let server = TestServer::builder()
        .gssapi(Arc::<Acceptor>::clone(&acceptor), [SPECIAL[0]])
        .start()
        .await
        .expect("the server starts");
    let error = error_of(&server, ADA, "").await;
    assert!(
        matches!(failure(&error), AuthenticationFailure::Refused(_)),
        "{error:?}"
    );
    assert_eq!(error.code(), Some(18));
    assert_eq!(acceptor.accepted(), 1);
}

/// The violated rule.
async fn violation(lie: Lie) -> String {
    let server = server_with(&Acceptor::new(lie)).await;
    let error = error_of(&server, ADA, "").await;
    match failure(&error) {
        AuthenticationFailure::Conversation(why) => why.clone(),
        other => panic!("{lie:?}: {other:?}"),
    }
}

pub(crate) async fn a_server_without_the_key_of_the_service_is_rejected() {
    let why = violation(Lie::Token).await;
    assert!(why.contains("rejects the server's message"), "{why}");
    let server = server().await;
    let option = "authMechanismProperties=SERVICE_NAME:keyless";
    let error = error_of(&server, ADA, option).await;
    assert_eq!(error.code(), Some(18), "{error:?}");
}

pub(crate) async fn offers_without_the_layer_none_are_rejected() {
    for (lie, part) in [
        (Lie::Offer(&[2, 0, 16, 0]), "requires a security layer"),
        (Lie::Offer(&[0, 0, 0, 0]), "requires a security layer"),
        (Lie::Offer(&[1, 0, 16, 0]), "maximum size"),
        (Lie::Offer(&[1, 0, 0]), "4 bytes"),
        (Lie::Offer(&[1, 0, 0, 0, 0]), "4 bytes"),
        (Lie::Unwrapped, "rejects the server's message"),
    ] {
        let why = violation(lie).await;
        assert!(why.contains(part), "{lie:?}: {why}");
    }
    let server = server_with(&Acceptor::new(Lie::Offer(&[7, 0, 16, 0]))).await;
    assert_logs_in(&server, ADA, "").await;
}

/// The failure against a server that replies to the first token with this payload.
async fn failure_with(payload: &'static [u8], done: bool) -> AuthenticationFailure {
    let server = ScriptedServer::start(doc! {}, move |request: &Request| match request.name() {
        "saslStart" => {
            let bytes = payload.to_vec();
            let subtype = BinarySubtype::Generic;
            Answer::Reply(doc! {
                "ok": 1, "conversationId": 1, "payload": Binary { subtype, bytes }, "done": done,
            })
        }
        _ => Answer::Success,
    })
    .await;
    let uri = server.uri("authMechanism=GSSAPI&retryReads=false");
    let uri = uri.replace("127.0.0.1", "localhost");
    let uri = uri.replace("mongodb://", &format!("mongodb://{}@", encoded(ADA)));
    let client = Client::connect(&uri).await.expect("a connection string");
    failure(&user_of(&client).await.expect_err("a violation")).clone()
}

pub(crate) async fn a_server_that_ends_the_conversation_early_is_rejected() {
    for (payload, done, part) in [
        (&b""[..], true, "before it offered security layers"),
        (b"", false, "rejects the server's message"),
        (b"nonsense", false, "rejects the server's message"),
    ] {
        match failure_with(payload, done).await {
            AuthenticationFailure::Conversation(why) => assert!(why.contains(part), "{part}: {why}"),
            other => panic!("{other:?}"),
        }
    }
    // A service that the KDC does not know is not asked for.
    let server = server().await;
    let option = "authMechanismProperties=SERVICE_NAME:unknown";
    let error = error_of(&server, ADA, option).await;
    assert_kerberos(&error, KerberosFailure::UnknownService, "unknown/localhost");
    assert_eq!(server.commands_seen("saslStart"), 0);
}
