//! Callbacks that hang, and servers that violate `MONGODB-OIDC`: typed errors within the deadline.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use marula_driver::{
    AuthenticationFailure, Client,
    bson::{Binary, Document, doc, spec::BinarySubtype, to_vec},
    options::{ClientOptions, Credential, OidcCallback, OidcCredential},
};
use marula_driver_tests::{Answer, Request, ScriptedServer};

use crate::support::{GOOD, failure, find, oidc_server, options_of, require_reauthentication, started};

/// A callback whose first `calls` succeed and whose further calls do not end.
fn hanging_after(calls: usize) -> OidcCallback {
    let made = Arc::new(AtomicUsize::new(0));
    OidcCallback::new(move |_| {
        let hangs = made.fetch_add(1, Ordering::SeqCst) >= calls;
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(OidcCredential::new(GOOD))
        }
    })
}

#[tokio::test]
async fn a_callback_that_hangs_ends_with_the_time_limit() {
    let server = started(oidc_server()).await;
    let credential = Credential::default().with_oidc_callback(hanging_after(0));
    let client = Client::with_options(options_of(&server, credential, "timeoutMS=1000")).unwrap();
    let error = find(&client).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    let text = format!("{error:#}");
    assert!(text.contains("1 of them being opened and logged in"), "{text}");
    assert!(!text.contains("maxPoolSize"), "{text}");
    let named = "authentication (authSource=$external) by MONGODB-OIDC waits for an access token";
    assert!(text.contains(named), "{text}");
}

/// The operation ends with its time limit, although a person has five minutes.
#[tokio::test]
async fn an_operation_does_not_wait_for_a_person_after_its_time_limit() {
    let server = started(oidc_server().oidc_identity_provider(
        marula_test_server::OidcIdentityProvider::new("https://idp.example.com"),
    ))
    .await;
    let credential = Credential::default().with_oidc_human_callback(hanging_after(0));
    let client = Client::with_options(options_of(&server, credential, "timeoutMS=200")).unwrap();
    let error = find(&client).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

#[tokio::test]
async fn a_callback_that_hangs_during_reauthentication_ends_with_the_time_limit() {
    let server = started(oidc_server()).await;
    let credential = Credential::default().with_oidc_callback(hanging_after(1));
    let client = Client::with_options(options_of(&server, credential, "timeoutMS=1000")).unwrap();
    find(&client).await.unwrap();
    require_reauthentication(&server, "find").await;
    let error = find(&client).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

/// A person may be signing in. Another clone of the client lives on.
#[tokio::test]
async fn a_call_of_the_human_flow_ends_with_the_shutdown() {
    let server = started(oidc_server().oidc_identity_provider(
        marula_test_server::OidcIdentityProvider::new("https://idp.example.com"),
    ))
    .await;
    let (began, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let callback = OidcCallback::new(move |_| {
        let (ended, waits) = tokio::sync::oneshot::channel::<()>();
        began.send(waits).unwrap();
        async move {
            let _ended = ended;
            std::future::pending().await
        }
    });
    let credential = Credential::default().with_oidc_human_callback(callback);
    let client = Client::with_options(options_of(&server, credential, "")).unwrap();
    let clone = client.clone();
    let finding = tokio::spawn(async move { find(&clone).await });
    let ended = calls.recv().await.unwrap();
    let _ = client.shutdown().deadline(std::time::Duration::ZERO).await;
    assert!(ended.await.is_err(), "the callback is dropped");
    finding.await.unwrap().unwrap_err();
}

/// A dropped operation drops the callback, and the next one calls it again.
#[tokio::test]
async fn a_dropped_operation_leaves_the_client_usable() {
    let server = started(oidc_server()).await;
    let made = Arc::new(AtomicUsize::new(0));
    let (counter, began) = (Arc::clone(&made), Arc::new(tokio::sync::Notify::new()));
    let notify = Arc::clone(&began);
    // The first call succeeds, the second hangs, and the third succeeds.
    let callback = OidcCallback::new(move |_| {
        let call = counter.fetch_add(1, Ordering::SeqCst);
        let notify = Arc::clone(&notify);
        async move {
            if call == 1 {
                notify.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(OidcCredential::new(GOOD))
        }
    });
    let credential = Credential::default().with_oidc_callback(callback);
    let client = Client::with_options(options_of(&server, credential, "")).unwrap();
    find(&client).await.unwrap();
    require_reauthentication(&server, "find").await;
    tokio::select! {
        outcome = find(&client) => panic!("{outcome:?}"),
        () = began.notified() => {}
    }
    find(&client).await.unwrap();
    assert_eq!(made.load(Ordering::SeqCst), 3);
}

fn reply(payload: Vec<u8>, done: bool) -> Answer {
    let payload = Binary {
        subtype: BinarySubtype::Generic,
        bytes: payload,
    };
    Answer::Reply(doc! { "ok": 1, "conversationId": 1, "payload": payload, "done": done })
}

/// The failure against a server that replies so to `saslStart`.
async fn failure_with(
    answer: impl Fn() -> Answer + Send + 'static,
    credential: Credential,
) -> AuthenticationFailure {
    let server = ScriptedServer::start(doc! {}, move |request: &Request| match request.name() {
        "saslStart" => answer(),
        _ => Answer::Success,
    })
    .await;
    let uri = server.uri("retryReads=false");
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    options.credential = Some(credential);
    let client = Client::with_options(options).expect("a client");
    failure(&find(&client).await.expect_err("a violation")).clone()
}

#[tokio::test]
async fn a_server_that_violates_the_conversation_is_an_error() {
    let machine = || Credential::default().with_oidc_callback(hanging_after(1));
    let human = || Credential::default().with_oidc_human_callback(hanging_after(0));
    let info = |document: Document| to_vec(&document).unwrap();
    let AuthenticationFailure::Conversation(why) = failure_with(|| reply(Vec::new(), false), machine()).await
    else {
        panic!("another failure");
    };
    assert!(why.contains("does not end the conversation"), "{why}");
    for (payload, done, part) in [
        (
            info(doc! { "issuer": "https://a" }),
            true,
            "before an access token",
        ),
        (info(doc! {}), false, "names no identity provider"),
        (b"<html>".to_vec(), false, "malformed"),
        (Vec::new(), false, "malformed"),
    ] {
        let failed = failure_with(move || reply(payload.clone(), done), human()).await;
        let AuthenticationFailure::Conversation(why) = failed else {
            panic!("{failed:?}");
        };
        assert!(why.contains(part), "{part}: {why}");
    }
    let failed = failure_with(|| Answer::Reply(doc! { "ok": 1 }), machine()).await;
    assert!(
        matches!(failed, AuthenticationFailure::Conversation(_)),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_reply_ends_with_connect_timeout() {
    let server = ScriptedServer::start(doc! {}, |request: &Request| match request.name() {
        "saslStart" => Answer::Silence,
        _ => Answer::Success,
    })
    .await;
    let uri = server.uri("retryReads=false&connectTimeoutMS=1000");
    let mut options = ClientOptions::parse(&uri).unwrap();
    options.credential = Some(Credential::default().with_oidc_callback(hanging_after(1)));
    let error = find(&Client::with_options(options).unwrap()).await.unwrap_err();
    assert!(error.is_network(), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains(
            "no answer within connectTimeoutMS (1s): authentication (authSource=$external) by MONGODB-OIDC waited for the \
             reply of the server to saslStart"
        ),
        "{text}"
    );
    assert_eq!(text.matches("during authentication").count(), 1, "{text}");
}
