//! Servers that violate SCRAM: authentication fails, and the client does not hang.

use marula_driver::{
    AuthenticationFailure, Client, Error, ErrorKind, NetworkPhase, SYSTEM_OVERLOADED_ERROR,
    bson::{Document, doc},
};

use crate::authentication::{
    list_databases,
    scripted::{Answer, ScriptedServer, conversation_reply, hello, payload_of},
};

const SHA_256: &str = "authMechanism=SCRAM-SHA-256";

/// A valid server-first message with this iteration count.
fn server_first(command: &Document, iterations: u64) -> Document {
    let first = payload_of(command);
    let nonce = first.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
    conversation_reply(&format!("r={nonce}abc,s=AAAA,i={iterations}"), false)
}

/// Performs a valid conversation, except that the server-final message is `last`.
fn converse(command: &Document, last: Document) -> Answer {
    Answer::Reply(match command.keys().next().map(String::as_str) {
        Some("saslStart") => server_first(command, 4096),
        Some("saslContinue") => last,
        Some("isMaster" | "hello") => hello(),
        _ => doc! { "ok": 1 },
    })
}

async fn fails(server: &ScriptedServer, options: &str) -> Error {
    let client = Client::connect(server.uri(options))
        .await
        .expect("a connection string");
    list_databases(&client).await.expect_err("no authentication")
}

fn conversation_error(error: &Error) -> String {
    let ErrorKind::Authentication(failed) = error.kind() else {
        panic!("{error:?}");
    };
    assert!(
        matches!(failed.failure, AuthenticationFailure::Conversation(_)),
        "{error}"
    );
    assert!(error.labels().is_empty() && error.code().is_none());
    error.to_string()
}

#[tokio::test]
async fn no_proof_is_sent_for_an_invalid_iteration_count() {
    for mechanism in ["SCRAM-SHA-1", "SCRAM-SHA-256"] {
        for (iterations, why) in [(4095, "4095 iterations"), (u64::MAX, "too long")] {
            let server = ScriptedServer::start(move |command| {
                Answer::Reply(match command.keys().next().map(String::as_str) {
                    Some("saslStart") => server_first(command, iterations),
                    _ => hello(),
                })
            })
            .await;
            let error = fails(&server, &format!("authMechanism={mechanism}")).await;
            assert!(conversation_error(&error).contains(why), "{error}");
            assert_eq!(server.commands(), ["saslStart"], "no proof is sent");
        }
    }
}

#[tokio::test]
async fn an_invalid_server_signature_is_rejected() {
    let zeros = "v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for (last, why) in [
        (conversation_reply(zeros, true), "signature is wrong"),
        (conversation_reply("v=", true), "signature is wrong"),
        (conversation_reply("", true), "no signature"),
        (conversation_reply("e=other-error", true), "other-error"),
        (conversation_reply("e=other-error", false), "other-error"),
        (doc! { "ok": 1, "done": true }, "no payload"),
        (doc! { "ok": 1 }, "no payload"),
    ] {
        let server = ScriptedServer::start(move |command| converse(command, last.clone())).await;
        let error = fails(&server, SHA_256).await;
        assert!(conversation_error(&error).contains(why), "{error}");
        assert_eq!(
            server.commands(),
            ["saslStart", "saslContinue"],
            "no command is sent"
        );
    }
}

#[tokio::test]
async fn an_invalid_server_first_message_is_rejected() {
    for (first, why) in [
        (
            conversation_reply("r=mine,s=AAAA,i=4096", false),
            "does not extend",
        ),
        (conversation_reply("nonsense", false), "lacks r="),
        (conversation_reply("", true), "before it proved itself"),
        (
            doc! { "ok": 1, "payload": "text", "conversationId": 1 },
            "no payload",
        ),
    ] {
        let server = ScriptedServer::start(move |command| {
            Answer::Reply(match command.keys().next().map(String::as_str) {
                Some("saslStart") => first.clone(),
                _ => hello(),
            })
        })
        .await;
        let error = fails(&server, SHA_256).await;
        assert!(conversation_error(&error).contains(why), "{error}");
    }
}

#[tokio::test]
async fn an_invalid_speculative_reply_is_rejected() {
    let server = ScriptedServer::start(|command| {
        let mut reply = hello();
        if let Ok(start) = command.get_document("speculativeAuthenticate") {
            reply.insert("speculativeAuthenticate", server_first(start, 1));
        }
        Answer::Reply(reply)
    })
    .await;
    let error = fails(&server, SHA_256).await;
    assert!(conversation_error(&error).contains("1 iterations"), "{error}");
    assert!(server.commands().is_empty());
}

/// Each message of the authentication, truncated before its first byte and in the middle.
#[tokio::test]
async fn a_connection_closed_at_any_message_is_a_network_error() {
    for (name, phase) in [
        ("isMaster", NetworkPhase::Handshake),
        ("saslStart", NetworkPhase::Authentication),
        ("saslContinue", NetworkPhase::Authentication),
    ] {
        for count in [0, 1, 40] {
            let server = ScriptedServer::start(move |command| {
                match (
                    converse(command, conversation_reply("v=AAAA", true)),
                    command.keys().next(),
                ) {
                    (Answer::Reply(reply), Some(key)) if key == name => Answer::Cut(reply, count),
                    (answer, _) => answer,
                }
            })
            .await;
            let error = fails(&server, SHA_256).await;
            let ErrorKind::Network(network) = error.kind() else {
                panic!("{name} closed at {count}: {error:?}");
            };
            assert_eq!(network.phase(), phase, "{name} closed at {count}");
            let overload = error.contains_label(SYSTEM_OVERLOADED_ERROR);
            assert_eq!(
                overload,
                phase == NetworkPhase::Handshake,
                "{name} closed at {count}"
            );
        }
    }
}

#[tokio::test]
async fn authentication_fails_after_connect_timeout() {
    let server = ScriptedServer::start(|command| match command.keys().next().map(String::as_str) {
        Some("saslStart") => Answer::Silence,
        _ => Answer::Reply(hello()),
    })
    .await;
    let error = fails(&server, &format!("{SHA_256}&connectTimeoutMS=1000")).await;
    assert!(
        error.is_timeout() && error.to_string().contains("connectTimeoutMS"),
        "{error}"
    );
    assert!(error.labels().is_empty(), "{error}");
}

#[tokio::test]
async fn connections_to_an_arbiter_do_not_authenticate() {
    let server = ScriptedServer::start(|command| {
        let mut reply = doc! { "ok": 1 };
        if command.contains_key("client") {
            reply = hello();
            reply.extend(
                doc! { "ismaster": false, "isWritablePrimary": false, "setName": "s", "arbiterOnly": true },
            );
        }
        Answer::Reply(reply)
    })
    .await;
    let options = format!("{SHA_256}&directConnection=true");
    let client = Client::connect(server.uri(&options)).await.unwrap();
    list_databases(&client).await.unwrap();
    assert_eq!(server.commands(), ["listCollections"]);
}

#[tokio::test]
async fn scram_sha_256_rejects_a_password_prohibited_by_saslprep() {
    let server = ScriptedServer::start(|command| converse(command, doc! { "ok": 1 })).await;
    let uri = server.uri(SHA_256).replace("hunter2", "%07");
    let client = Client::connect(uri).await.unwrap();
    let error = list_databases(&client).await.unwrap_err();
    let ErrorKind::Authentication(failed) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(failed.failure, AuthenticationFailure::Password);
    assert_eq!(server.commands(), ["saslStart"]);
}
