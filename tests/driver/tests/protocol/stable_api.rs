//! The Stable API: which commands declare the API version.

use marula_driver::{
    Client,
    bson::{Document, doc},
    options::{AuthMechanism, ClientOptions, ServerApi, ServerApiVersion},
};
use marula_driver_tests::{CommandRecorder, Observer};
use marula_test_server::TestServer;

const V1: ServerApi = ServerApi::new(ServerApiVersion::V1);

fn options(uri: &str, api: Option<ServerApi>) -> ClientOptions {
    let mut options = ClientOptions::parse(uri).expect("options");
    options.server_api = api;
    options
}

/// Runs reads, writes, cursors, sessions and application-defined commands.
async fn run_all_operations(client: &Client) -> marula_driver::Result<()> {
    let things = client.database("stable").collection::<Document>("things");
    things.drop().await?;
    let documents: Vec<Document> = (0..5).map(|n| doc! { "_id": n }).collect();
    things.insert_many(&documents).await?;
    let read: Vec<Document> = things.find(doc! {}).batch_size(2).await?.try_collect().await?;
    assert_eq!(read.len(), 5);
    things
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "x": 1 } })
        .await?;
    assert_eq!(things.count_documents(doc! {}).await?, 5);
    let mut session = client.start_session().await?;
    things.find_one(doc! { "_id": 1 }).session(&mut session).await?;
    session.end().await;
    things.delete_one(doc! { "_id": 1 }).await?;
    client.database("admin").run_command(doc! { "ping": 1 }).await?;
    client.list_database_names().await?;
    Ok(())
}

/// The tests cannot set `MONGODB_API_VERSION` for all clients; instead one client runs operations
/// of all kinds.
#[tokio::test]
async fn versioned_api_prose_1() {
    let server = TestServer::builder()
        .standalone()
        .start()
        .await
        .expect("a server");
    let require = |required: bool| doc! { "setParameter": 1, "requireApiVersion": required };
    let recorder = CommandRecorder::default();
    let mut options = options(&server.uri(), Some(V1));
    recorder.listen(&mut options);
    let client = Client::with_options(options).expect("a client");
    let admin = client.database("admin");
    // The client discovers the server before the version is required, because its monitor does not
    // send it.
    let plain = Client::connect(server.uri()).await.expect("a client");
    plain
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    admin.run_command(require(true)).await.expect("required");
    run_all_operations(&client)
        .await
        .expect("every command declares the version");

    let refused = plain.database("admin").run_command(doc! { "ping": 1 }).await;
    assert_eq!(refused.expect_err("no version").code(), Some(498_870));

    admin.run_command(require(false)).await.expect("reset");
    client.shutdown().await;
    let commands = recorder.commands();
    for wanted in ["getMore", "endSessions"] {
        assert!(
            commands.iter().any(|command| command.contains_key(wanted)),
            "no {wanted} was sent"
        );
    }
    for command in commands {
        assert_eq!(command.get_str("apiVersion").ok(), Some("1"), "{command}");
        assert!(!command.contains_key("apiStrict") && !command.contains_key("apiDeprecationErrors"));
    }
}

/// The commands of authentication, too.
#[tokio::test]
async fn authentication_works_on_a_server_that_requires_an_api_version() {
    let server = TestServer::builder()
        .standalone()
        .auth("root", "hunter2")
        .parameter("requireApiVersion", true)
        .start()
        .await
        .expect("a server");
    let mut options = options(&server.uri(), Some(V1));
    // No part of the conversation is in the handshake.
    for mechanism in [AuthMechanism::ScramSha1, AuthMechanism::ScramSha256] {
        options.credential.as_mut().expect("a user").mechanism = Some(mechanism);
        let client = Client::with_options(options.clone()).expect("a client");
        run_all_operations(&client)
            .await
            .expect("every command declares the version");
    }
}

#[tokio::test]
async fn every_request_has_the_api_version_and_no_legacy_hello_is_sent() {
    // A server without helloOk.
    let observer = Observer::start(doc! {}).await;
    let api = V1.with_strict(false).with_deprecation_errors(true);
    let client = Client::with_options(options(&observer.uri(""), Some(api))).expect("a client");
    client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    let requests = observer.requests();
    assert!(requests.len() >= 2, "requests of the monitor and the ping");
    for request in requests.iter().flatten() {
        assert!(!request.contains_key("isMaster"), "{request}");
        assert_eq!(request.get_str("apiVersion").ok(), Some("1"), "{request}");
        assert_eq!(request.get_bool("apiStrict").ok(), Some(false), "{request}");
        assert_eq!(
            request.get_bool("apiDeprecationErrors").ok(),
            Some(true),
            "{request}"
        );
    }
}

#[tokio::test]
async fn without_server_api_no_api_fields_are_sent() {
    let observer = Observer::start(doc! {}).await;
    let client = Client::with_options(options(&observer.uri(""), None)).expect("a client");
    client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    for request in observer.requests().iter().flatten() {
        assert!(request.keys().all(|key| !key.starts_with("api")), "{request}");
    }
}

#[tokio::test]
async fn a_connection_string_cannot_set_the_server_api() {
    let parsed =
        ClientOptions::parse("mongodb://h/?apiVersion=1&serverApi=1&apiStrict=true").expect("options");
    assert_eq!(parsed.server_api, None);
    assert_eq!(parsed.warnings().len(), 3, "{:?}", parsed.warnings());
}
