//! Access tokens that expire while connections are in use.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::StreamExt;
use marula_driver::{
    Client,
    bson::{Document, doc},
    options::{Credential, OidcCallback, OidcCredential},
};
use marula_driver_tests::CommandRecorder;
use marula_test_server::TestServer;
use tokio::sync::Notify;

use crate::support::{
    GOOD, assert_refused, client_of, find, oidc_server, options_of, require_reauthentication, started, things,
};

/// A callback that returns `token1`, `token2` … and makes each of them valid on the server.
fn issuing(server: &Arc<TestServer>) -> (Arc<AtomicUsize>, Credential) {
    let calls = Arc::new(AtomicUsize::new(0));
    let (counter, server) = (Arc::clone(&calls), Arc::downgrade(server));
    let callback = OidcCallback::new(move |_| {
        let token = format!("token{}", counter.fetch_add(1, Ordering::SeqCst) + 1);
        if let Some(server) = server.upgrade() {
            server.add_oidc_token(token.clone(), "test_user1");
        }
        async move { Ok(OidcCredential::new(token)) }
    });
    (calls, Credential::default().with_oidc_callback(callback))
}

#[tokio::test]
async fn an_expired_token_is_replaced_on_every_topology() {
    for builder in [
        oidc_server(),
        oidc_server().replica_set(),
        oidc_server().sharded(),
        oidc_server().load_balanced(),
    ] {
        let server = Arc::new(started(builder).await);
        let (calls, credential) = issuing(&server);
        let client = client_of(&server, credential);
        for expired in 1..4 {
            find(&client).await.unwrap();
            things(&client).insert_one(&doc! { "x": expired }).await.unwrap();
            assert!(server.revoke_oidc_token(&format!("token{expired}")));
        }
        assert_eq!(calls.load(Ordering::SeqCst), 3);
    }
}

/// Connections that are rejected at the same time share the new token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_connections_share_the_new_token() {
    let server = Arc::new(started(oidc_server().replica_set()).await);
    let (calls, credential) = issuing(&server);
    let client = client_of(&server, credential);
    for round in 1..4 {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { find(&client).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(calls.load(Ordering::SeqCst), round);
        assert!(server.revoke_oidc_token(&format!("token{round}")));
    }
}

/// Cursors, transactions and bulk writes continue on their connections.
#[tokio::test]
async fn cursors_and_transactions_continue() {
    let server = Arc::new(started(oidc_server().load_balanced()).await);
    let (calls, credential) = issuing(&server);
    let client = client_of(&server, credential);
    let things = things(&client);
    let documents: Vec<Document> = (0..6).map(|x| doc! { "x": x }).collect();
    things.insert_many(&documents).await.unwrap();
    let mut cursor = things.find(doc! {}).batch_size(2).await.unwrap();
    let mut found = 0;
    while cursor.next().await.is_some_and(|document| document.is_ok()) {
        found += 1;
        if found == 2 {
            assert!(server.revoke_oidc_token("token1"));
        }
    }
    assert_eq!(found, 6);
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    things
        .insert_one(&doc! { "x": 7 })
        .session(&mut session)
        .await
        .unwrap();
    assert!(server.revoke_oidc_token("token2"));
    session.commit_transaction().await.unwrap();
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 7);
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

/// The server has refused the command, so that it does not use the session. The connection is closed.
#[tokio::test]
async fn a_dropped_reauthentication_returns_the_implicit_session() {
    let server = started(oidc_server().replica_set()).await;
    let (calls, called) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let released = Arc::new(Notify::new());
    let (at_call, until) = (Arc::clone(&called), Arc::clone(&released));
    let callback = OidcCallback::new(move |_| {
        let is_second = calls.fetch_add(1, Ordering::SeqCst) == 1;
        let (at_call, until) = (Arc::clone(&at_call), Arc::clone(&until));
        async move {
            if is_second {
                at_call.notify_one();
                until.notified().await;
            }
            Ok(OidcCredential::new(GOOD))
        }
    });
    let commands = CommandRecorder::default();
    let credential = Credential::default().with_oidc_callback(callback);
    let mut options = options_of(&server, credential, "");
    commands.listen(&mut options);
    let client = Client::with_options(options).unwrap();
    let lsid_of_last = || {
        let sent = commands.commands();
        let find = sent.last().expect("a command");
        find.get_document("lsid").expect("a session").clone()
    };
    find(&client).await.unwrap();
    let id = lsid_of_last();
    require_reauthentication(&server, "find").await;
    tokio::select! {
        biased;
        found = find(&client) => panic!("the callback does not return: {found:?}"),
        () = called.notified() => {}
    }
    assert_eq!(lsid_of_last(), id);
    released.notify_one();
    find(&client).await.unwrap();
    assert_eq!(lsid_of_last(), id);
}

/// The command is repeated once: if the new token does not help, the error is returned.
#[tokio::test]
async fn a_token_that_stays_expired_is_an_error() {
    let server = started(oidc_server()).await;
    let callback = OidcCallback::new(|_| async { Ok(OidcCredential::new(GOOD)) });
    let client = client_of(&server, Credential::default().with_oidc_callback(callback));
    find(&client).await.unwrap();
    assert!(server.revoke_oidc_token(GOOD));
    assert_refused(&find(&client).await.unwrap_err(), 18);
    server.add_oidc_token(GOOD, "test_user1");
    find(&client).await.unwrap();
}

#[tokio::test]
async fn tokens_do_not_appear_in_events_errors_or_debug_output() {
    const TOKEN: &str = "a-token-of-hunter2";
    let server = started(oidc_server()).await;
    for is_valid in [true, false] {
        if is_valid {
            server.add_oidc_token(TOKEN, "test_user1");
        } else {
            server.revoke_oidc_token(TOKEN);
        }
        let callback = OidcCallback::new(|_| async {
            Ok(OidcCredential::new(TOKEN).with_refresh_token("refresh-of-hunter2"))
        });
        let credential = Credential::default().with_oidc_callback(callback);
        let commands = CommandRecorder::default();
        let mut options = options_of(&server, credential, "");
        commands.listen(&mut options);
        let shown_options = format!("{options:?}");
        let client = Client::with_options(options).unwrap();
        let outcome = find(&client).await;
        assert_eq!(outcome.is_ok(), is_valid);
        let shown = format!("{shown_options} {client:?} {:?} {outcome:?}", commands.take());
        assert!(!shown.contains("hunter2"), "{shown}");
        if let Err(error) = outcome {
            let shown = format!("{error} {error:#} {:?}", error.server_response());
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
