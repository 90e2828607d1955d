//! Reauthentication of established connections (ReauthenticationRequired).

use marula_driver::{
    Client, ErrorKind,
    bson::{Document, doc},
    event::CommandEvent,
};
use marula_driver_tests::{CommandRecorder, Encrypted};
use marula_test_server::TestServer;

use crate::authentication::{create_user, started, uri_of, with_root_user};

const REQUIRED: i32 = 391;

async fn fail(uri: &str, commands: &[&str], times: i32) {
    let client = Client::connect(uri).await.expect("a connection string");
    let point = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": times },
        "data": { "failCommands": commands, "errorCode": REQUIRED, "appName": "again" },
    };
    let admin = client.database("admin");
    admin.run_command(point).await.expect("the fail point is set");
}

fn kinds(recorder: &CommandRecorder) -> Vec<String> {
    let kind = |event: &CommandEvent| match event {
        CommandEvent::Started(event) => format!("started {}", event.command_name),
        CommandEvent::Succeeded(event) => format!("succeeded {}", event.command_name),
        CommandEvent::Failed(event) => format!("failed {}", event.command_name),
        _ => String::new(),
    };
    recorder.take().iter().map(kind).collect()
}

/// Commands that are not retryable are repeated as well, and the connection stays the same.
#[tokio::test]
async fn a_command_is_repeated_after_reauthentication() {
    let server = started(with_root_user()).await;
    create_user(&server, "old", "old", &["SCRAM-SHA-1"]).await;
    for user in ["root:hunter2", "old:old"] {
        let recorder = CommandRecorder::default();
        let uri = uri_of(
            &server,
            user,
            "retryReads=false&retryWrites=false&appName=again&maxPoolSize=1",
        );
        let client = recorder.client_of(&uri);
        let things = client.database("db").collection::<Document>("things");
        things.find_one(doc! {}).await.unwrap();
        let _ = recorder.take();
        let logins = server.commands_seen("saslStart");
        fail(&server.uri(), &["find"], 1).await;
        things.find_one(doc! {}).await.unwrap();
        assert_eq!(
            kinds(&recorder),
            ["started find", "failed find", "started find", "succeeded find"]
        );
        assert_eq!(
            server.commands_seen("saslStart"),
            logins + 1,
            "{user}: no handshake"
        );
        fail(&server.uri(), &["insert"], 1).await;
        things.insert_one(&doc! {}).await.unwrap();
        let mut session = client.start_session().await.unwrap();
        fail(&server.uri(), &["find"], 1).await;
        things.find_one(doc! {}).session(&mut session).await.unwrap();
        assert_eq!(server.commands_seen("saslStart"), logins + 3);
    }
}

#[tokio::test]
async fn a_command_is_repeated_once() {
    let server = started(with_root_user()).await;
    let uri = format!("{}?retryReads=false&appName=again", server.uri());
    let client = Client::connect(&uri).await.unwrap();
    let things = client.database("db").collection::<Document>("things");
    things.find_one(doc! {}).await.unwrap();
    fail(&server.uri(), &["find"], 2).await;
    let error = things.find_one(doc! {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Command(_)), "{error}");
    assert_eq!(error.code(), Some(REQUIRED));
    things.find_one(doc! {}).await.unwrap();
}

/// The authentication error is returned, and its connection is closed.
#[tokio::test]
async fn a_failed_reauthentication_fails_the_command() {
    let server = started(with_root_user()).await;
    let uri = format!("{}?retryReads=false&appName=again&maxPoolSize=1", server.uri());
    let client = Client::connect(&uri).await.unwrap();
    let things = client.database("db").collection::<Document>("things");
    things.find_one(doc! {}).await.unwrap();
    fail(&server.uri(), &["find", "saslStart"], 2).await;
    let created = server.connections_created();
    let error = things.find_one(doc! {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Authentication(_)), "{error:?}");
    assert_eq!(error.code(), Some(REQUIRED));
    things.find_one(doc! {}).await.unwrap();
    assert!(server.connections_created() > created, "a new connection");
}

#[tokio::test]
async fn x509_reauthenticates() {
    let builder = TestServer::builder().x509_user(Encrypted::CLIENT_SUBJECT);
    let deployment = Encrypted::start(builder).await;
    let options = "authMechanism=MONGODB-X509&appName=again&retryReads=false";
    let client = Client::connect(deployment.uri_with_certificate(options))
        .await
        .unwrap();
    let things = client.database("db").collection::<Document>("things");
    things.find_one(doc! {}).await.unwrap();
    assert_eq!(deployment.server.commands_seen("authenticate"), 0);
    let uri = deployment.uri_with_certificate("authMechanism=MONGODB-X509");
    fail(&uri, &["find"], 1).await;
    things.find_one(doc! {}).await.unwrap();
    assert_eq!(deployment.server.commands_seen("authenticate"), 1);
}

/// Without credentials no reauthentication is possible: the command is retried once, and its error
/// is returned.
#[tokio::test]
async fn without_credentials_the_server_error_is_returned() {
    let server = TestServer::builder().start().await.unwrap();
    let client = Client::connect(format!("{}?appName=again", server.uri()))
        .await
        .unwrap();
    fail(&server.uri(), &["ping"], 2).await;
    let ping = doc! { "ping": 1 };
    let error = client.database("db").run_command(ping).await.unwrap_err();
    assert_eq!(error.code(), Some(REQUIRED));
}
