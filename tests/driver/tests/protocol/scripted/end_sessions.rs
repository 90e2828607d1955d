//! `endSessions` when a client is shut down and when its last handle is dropped.

use std::time::Duration;

use marula_driver::{
    Client,
    bson::{Bson, Document, doc},
    options::{ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{Answer, Request, ScriptedServer};
use tokio::runtime;

fn with_sessions() -> Document {
    doc! { "logicalSessionTimeoutMinutes": 30 }
}

/// The hello reply of a secondary whose primary is not reachable.
fn secondary() -> Document {
    doc! {
        "msg": Bson::Null, "isWritablePrimary": false, "ismaster": false, "secondary": true, "setName": "rs0",
        "logicalSessionTimeoutMinutes": 30,
    }
}

/// The session ids in an `endSessions`.
fn ended(request: &Request) -> Vec<Document> {
    let ids = request.command.get_array("endSessions").expect("ids");
    ids.iter()
        .map(|id| id.as_document().expect("an id").clone())
        .collect()
}

async fn ping(client: &Client) -> Document {
    let nearest = ReadPreference::new(ReadPreferenceMode::Nearest);
    let admin = client.database("admin");
    let ping = admin.run_command(doc! { "ping": 1 }).read_preference(nearest);
    ping.await.expect("a reply")
}

#[tokio::test]
async fn end_sessions_is_sent_to_a_secondary_without_a_primary() {
    for shut_down in [true, false] {
        let server = ScriptedServer::start(secondary(), |_| Answer::Success).await;
        let client = Client::connect(server.uri("replicaSet=rs0"))
            .await
            .expect("a client");
        ping(&client).await;
        let lsid = server.requests_named("ping")[0].lsid().expect("a session");
        if shut_down {
            client.shutdown().await;
        } else {
            drop(client);
        }
        let all = server.wait_for("endSessions", 1).await;
        assert_eq!(ended(&all[0]), [lsid]);
        assert_eq!(all[0].lsid(), None);
    }
}

#[tokio::test]
async fn dropping_the_last_handle_sends_end_sessions_and_closes_the_client() {
    let server = ScriptedServer::start(with_sessions(), |_| Answer::Success).await;
    let client = Client::connect(server.uri("serverMonitoringMode=poll"))
        .await
        .expect("a client");
    ping(&client).await;
    let things = client.database("d").collection::<Document>("c");
    let session = client.start_session().await.expect("a session");
    let ids: Vec<Document> = session.id().into_iter().collect();
    drop(client);
    drop(session);
    assert!(
        server.requests_named("endSessions").is_empty(),
        "a collection handle is left"
    );
    // On a thread without a runtime.
    std::thread::spawn(move || drop(things)).join().expect("no panic");
    let all = server.wait_for("endSessions", 1).await;
    assert_eq!(ended(&all[0]), ids);
    // The connections of the monitor and of the pool.
    server.wait_for_closed(2).await;
    assert_eq!(server.requests_named("endSessions").len(), 1);
}

#[tokio::test]
async fn a_dropped_client_closes_its_connections_if_end_sessions_gets_no_reply() {
    let server = ScriptedServer::start(with_sessions(), |request| match request.name() {
        "endSessions" => Answer::Silence,
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("serverMonitoringMode=poll"))
        .await
        .expect("a client");
    ping(&client).await;
    drop(client);
    server.wait_for("endSessions", 1).await;
    server.wait_for_closed(2).await;
}

#[tokio::test]
async fn a_client_without_sessions_sends_no_end_sessions() {
    let server = ScriptedServer::start(doc! {}, |_| Answer::Success).await;
    let client = Client::connect(server.uri("serverMonitoringMode=poll"))
        .await
        .expect("a client");
    ping(&client).await;
    drop(client);
    server.wait_for_closed(2).await;
    assert!(server.requests_named("endSessions").is_empty());
}

/// `endSessions` is sent by a task on the runtime of the client, which does not run.
#[tokio::test]
async fn a_shutdown_ends_while_the_runtime_of_the_client_does_not_run() {
    let server = ScriptedServer::start(with_sessions(), |_| Answer::Success).await;
    let uri = server.uri("serverMonitoringMode=poll");
    let connected = tokio::task::spawn_blocking(|| {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let client = runtime.block_on(async {
            let client = Client::connect(uri).await.expect("a client");
            ping(&client).await;
            client
        });
        (runtime, client)
    });
    let (runtime, client) = connected.await.expect("no panic");
    let shutdown = tokio::time::timeout(Duration::from_secs(60), client.shutdown());
    shutdown.await.expect("the shutdown is limited");
    assert!(server.requests_named("endSessions").is_empty());
    runtime.shutdown_background();
}
