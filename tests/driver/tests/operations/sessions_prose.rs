//! Prose tests of the Sessions specification that need servers without session support, or the
//! cluster time.

use std::sync::{Arc, Mutex, PoisonError};

use marula_driver::{
    Client, ErrorKind,
    bson::{Bson, Document, doc},
    event::{EventListener, SdamEvent},
    options::ClientOptions,
};
use marula_driver_tests::{CommandRecorder, Observer, replica_set};
use tokio::sync::watch;

/// A server without support for sessions, and a client whose commands are recorded.
async fn without_sessions() -> (Observer, Client, CommandRecorder) {
    let observer = Observer::start(doc! {}).await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&observer.uri(""));
    (observer, client, recorder)
}

#[tokio::test]
async fn sessions_prose_18() {
    let (_observer, client, recorder) = without_sessions().await;
    let hello = doc! { "hello": 1 };
    let hello = client.database("admin").run_command(hello).await.unwrap();
    assert!(!hello.contains_key("logicalSessionTimeoutMinutes"));
    let _ = recorder.take();
    let things = client.database("d").collection::<Document>("things");
    // The test checks the commands, not the replies.
    let _ = things.find_one(doc! {}).await;
    let _ = things.insert_one(&doc! {}).await;
    let commands = recorder.commands();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        assert!(!command.contains_key("lsid"), "{command}");
    }
}

#[tokio::test]
async fn sessions_prose_19() {
    let (_observer, client, recorder) = without_sessions().await;
    let mut session = client.start_session().await.unwrap();
    let things = client.database("d").collection::<Document>("things");
    let read = things.find_one(doc! {}).session(&mut session).await.unwrap_err();
    let write = things
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap_err();
    for error in [read, write] {
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error:?}");
        assert!(
            error.to_string().contains("sessions are not supported"),
            "{error}"
        );
    }
    assert!(recorder.is_empty(), "no command was sent");
}

/// Monitoring commands have no `$clusterTime`, and the cluster time in their replies is not used by
/// operations.
#[tokio::test]
async fn sessions_prose_20() {
    let deployment = replica_set().await;
    let primary = deployment.server.primary().unwrap();
    let uri = format!("mongodb://{primary}/?directConnection=true&heartbeatFrequencyMS=500");
    let recorder = CommandRecorder::default();
    let mut options = ClientOptions::parse(&uri).unwrap();
    recorder.listen(&mut options);
    let (beats, mut seen) = watch::channel(0);
    let replies = Arc::<Mutex<Vec<Document>>>::default();
    let kept = Arc::clone(&replies);
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::ServerHeartbeatSucceeded { reply, .. } = event {
            let reply = Document::try_from(&**reply).unwrap_or_default();
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(reply);
            beats.send_modify(|count| *count += 1);
        }
    }));
    let client = Client::with_options(options).unwrap();
    let admin = client.database("admin");
    let ping = || admin.run_command(doc! { "ping": 1 });
    let time = ping()
        .await
        .unwrap()
        .get_document("$clusterTime")
        .unwrap()
        .clone();
    let _ = recorder.take();
    let things = deployment.client.database("test").collection::<Document>("test");
    things
        .insert_one(&doc! { "advance": "$clusterTime" })
        .await
        .unwrap();
    // The second heartbeat that ends from here on began after the insert.
    let now = *seen.borrow_and_update();
    seen.wait_for(|count| *count >= now + 2).await.unwrap();
    ping().await.unwrap();
    let sent = recorder.only_command();
    assert_eq!(sent.get_document("$clusterTime").ok(), Some(&time));
    // The heartbeats received a later cluster time.
    let later = |reply: &Document| match reply.get_document("$clusterTime").ok()?.get("clusterTime") {
        Some(Bson::Timestamp(own)) => Some(*own),
        _ => None,
    };
    let replies = replies.lock().unwrap();
    let Some(Bson::Timestamp(old)) = time.get("clusterTime") else {
        panic!("{time}");
    };
    let last = replies.iter().filter_map(later).max();
    assert!(last.is_none_or(|last| last > *old), "{last:?}");
}
