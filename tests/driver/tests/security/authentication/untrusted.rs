//! Servers that violate SCRAM: authentication fails, and the client does not hang.

use marula_driver::{
    AuthenticationFailure, Client, Error, ErrorKind, NetworkPhase, SYSTEM_OVERLOADED_ERROR,
    bson::{Document, doc},
};

use crate::authentication::{
    scripted::{Answer, ScriptedServer, hello, said, say},
    try_out,
};

const SHA_256: &str = "authMechanism=SCRAM-SHA-256";

/// A well-formed first message, with this iteration count.
fn server_first(command: &Document, iterations: u64) -> Document {
    let first = said(command);
    let nonce = first.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
    say(&format!("r={nonce}abc,s=AAAA,i={iterations}"), false)
}

/// Plays the conversation well up to the last message, which is this.
fn play(command: &Document, last: Document) -> Answer {
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
    try_out(&client).await.expect_err("no login")
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
async fn too_few_iterations_get_no_proof() {
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
            assert_eq!(server.commands(), ["saslStart"], "nothing is proved");
        }
    }
}

#[tokio::test]
async fn a_forged_signature_is_refused() {
    let zeros = "v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for (last, why) in [
        (say(zeros, true), "signature is wrong"),
        (say("v=", true), "signature is wrong"),
        (say("", true), "no signature"),
        (say("e=other-error", true), "other-error"),
        (say("e=other-error", false), "other-error"),
        (doc! { "ok": 1, "done": true }, "no payload"),
        (doc! { "ok": 1 }, "no payload"),
    ] {
        let server = ScriptedServer::start(move |command| play(command, last.clone())).await;
        let error = fails(&server, SHA_256).await;
        assert!(conversation_error(&error).contains(why), "{error}");
        assert_eq!(
            server.commands(),
            ["saslStart", "saslContinue"],
            "the user runs nothing"
        );
    }
}

#[tokio::test]
async fn a_first_message_out_of_the_rules_is_refused() {
    for (first, why) in [
        (say("r=mine,s=AAAA,i=4096", false), "does not extend"),
        (say("nonsense", false), "lacks r="),
        (say("", true), "before it proved itself"),
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
async fn a_server_that_lies_in_the_handshake_is_refused_too() {
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

/// Each message of the login, cut at its first byte and in its midst.
#[tokio::test]
async fn a_connection_cut_at_any_message_is_a_network_error() {
    for (name, phase) in [
        ("isMaster", NetworkPhase::Handshake),
        ("saslStart", NetworkPhase::Authentication),
        ("saslContinue", NetworkPhase::Authentication),
    ] {
        for count in [0, 1, 40] {
            let server = ScriptedServer::start(move |command| {
                match (play(command, say("v=AAAA", true)), command.keys().next()) {
                    (Answer::Reply(reply), Some(key)) if key == name => Answer::Cut(reply, count),
                    (answer, _) => answer,
                }
            })
            .await;
            let error = fails(&server, SHA_256).await;
            let ErrorKind::Network(network) = error.kind() else {
                panic!("{name} cut at {count}: {error:?}");
            };
            assert_eq!(network.phase(), phase, "{name} cut at {count}");
            let overload = error.contains_label(SYSTEM_OVERLOADED_ERROR);
            assert_eq!(
                overload,
                phase == NetworkPhase::Handshake,
                "{name} cut at {count}"
            );
        }
    }
}

#[tokio::test]
async fn a_silent_server_ends_the_login_at_the_connect_timeout() {
    let server = ScriptedServer::start(|command| match command.keys().next().map(String::as_str) {
        Some("saslStart") => Answer::Silence,
        _ => Answer::Reply(hello()),
    })
    .await;
    let error = fails(&server, &format!("{SHA_256}&connectTimeoutMS=300")).await;
    assert!(
        error.is_timeout() && error.to_string().contains("connectTimeoutMS"),
        "{error}"
    );
    assert!(error.labels().is_empty(), "{error}");
}

#[tokio::test]
async fn nobody_logs_in_on_an_arbiter() {
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
    try_out(&client).await.unwrap();
    assert_eq!(server.commands(), ["listCollections"]);
}

#[tokio::test]
async fn a_password_that_cannot_be_prepared_is_refused_by_the_newer_hash() {
    let server = ScriptedServer::start(|command| play(command, doc! { "ok": 1 })).await;
    let uri = server.uri(SHA_256).replace("hunter2", "%07");
    let client = Client::connect(uri).await.unwrap();
    let error = try_out(&client).await.unwrap_err();
    let ErrorKind::Authentication(failed) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(failed.failure, AuthenticationFailure::Password);
    assert_eq!(server.commands(), ["saslStart"]);
}
