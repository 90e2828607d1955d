//! The connections and tasks of monitors end with the client.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use marula_driver::{
    Client, ServerAddress,
    bson::{Document, doc, oid::ObjectId},
    event::SdamEvent,
    internals::wait_for_topology,
    options::ServerMonitoringMode,
};
use marula_driver_tests::{read_request, reply_to, standalone};
use marula_test_server::TestServer;
use tokio::{io::AsyncWriteExt, net::TcpListener, runtime::Handle, sync::watch};

use super::log::{Entry, Log, fail};

const HOUR: Duration = Duration::from_secs(3600);

fn address_of(server: &TestServer) -> ServerAddress {
    server.addresses()[0].to_string().parse().expect("an address")
}

/// Waits until the runtime has at most `count` tasks. Aborted tasks end at their next poll.
async fn tasks_end(count: usize) {
    while Handle::current().metrics().num_alive_tasks() > count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_closed_client_leaves_no_task_and_no_connection() {
    for dropped in [false, true] {
        for servers in [1, 3] {
            let builder = TestServer::builder();
            let server = match servers {
                1 => builder.standalone(),
                _ => builder.replica_set(),
            };
            let server = server.start().await.unwrap();
            let tasks = Handle::current().metrics().num_alive_tasks();
            let log = Log::default();
            let client = log.client(&server.uri(), |_| {});
            let things = client.database("d").collection::<Document>("c");
            things.insert_one(&doc! {}).await.expect("stored");
            // Each server has a streaming connection and an RTT connection; one has a pooled
            // connection.
            server.wait_for_open_connections(2 * servers + 1).await;
            assert!(Handle::current().metrics().num_alive_tasks() > tasks);
            if !dropped {
                client.shutdown().await;
                server.wait_for_open_connections(0).await;
                tasks_end(tasks).await;
            }
            drop((things, client));
            server.wait_for_open_connections(0).await;
            tasks_end(tasks).await;
            assert_eq!(
                Handle::current().metrics().num_alive_tasks(),
                tasks,
                "dropped: {dropped}"
            );
        }
    }
}

#[tokio::test]
async fn a_polling_monitor_has_one_connection() {
    for (version, mode) in [
        ("8.2", ServerMonitoringMode::Poll),
        ("4.2", ServerMonitoringMode::Stream),
    ] {
        let server = TestServer::builder()
            .standalone()
            .version(version)
            .start()
            .await
            .unwrap();
        let log = Log::default();
        let _client = log.client(&server.uri(), |options| {
            options.server_monitoring_mode = mode;
            options.heartbeat_frequency = Duration::from_millis(500);
        });
        let mut place = 0;
        for _ in 0..3 {
            place = log.after(place, Entry::is_succeeded_check).await;
        }
        let address = address_of(&server);
        assert!(
            !log.entries().iter().any(|entry| entry.is_stream_of(&address)),
            "{version}"
        );
        assert_eq!(server.connections_created(), 1, "{version}");
    }
}

#[tokio::test]
async fn streaming_reports_a_new_primary_immediately() {
    let server = TestServer::builder().replica_set().start().await.unwrap();
    let log = Log::default();
    let client = log.client(&server.uri(), |options| options.heartbeat_frequency = HOUR);
    for address in server.addresses() {
        let address = address.to_string().parse().unwrap();
        log.after(0, |entry| entry.is_stream_of(&address)).await;
    }
    let before = server.primary().expect("a primary");
    assert!(server.step_down());
    let after = server.primary().expect("another primary");
    assert_ne!(before, after);
    wait_for_topology(&client, |topology| {
        let primary = topology.primary().map(|primary| primary.address().to_string());
        primary == Some(after.to_string())
    })
    .await;
}

/// A network error of an operation cancels the check in progress. Then the monitor has new
/// connections, and the old ones are closed.
#[tokio::test]
async fn streaming_restarts_after_a_cancelled_check() {
    let deployment = standalone().await;
    let address = address_of(&deployment.server);
    // The client of the fixture has a streaming connection, an RTT connection and a pooled
    // connection.
    let data = doc! { "failCommands": ["find"], "closeConnection": true };
    fail(&deployment.client, doc! { "times": 1 }, data).await;
    deployment.server.wait_for_open_connections(3).await;
    let log = Log::default();
    let client = log.client(&deployment.server.uri(), |options| {
        options.heartbeat_frequency = HOUR;
    });
    let streamed = log.after(0, |entry| entry.is_stream_of(&address)).await;
    let things = client.database("d").collection::<Document>("c");
    things.find_one(doc! {}).await.unwrap();
    let failed = log
        .after(streamed, |entry| entry.is_failed_check_of(&address))
        .await;
    assert!(matches!(
        &log.entries()[failed - 1],
        Entry::Sdam(SdamEvent::ServerHeartbeatFailed { awaited: true, .. })
    ));
    log.after(failed, |entry| entry.is_stream_of(&address)).await;
    deployment.server.wait_for_open_connections(6).await;
}

/// A server that supports streaming, records its requests, and answers only the first hello of each
/// connection.
async fn recording_server() -> (String, watch::Receiver<Vec<Document>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let uri = format!("mongodb://{}/", listener.local_addr().expect("an address"));
    let (notes, asked) = watch::channel(Vec::new());
    let notes = Arc::new(notes);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let notes = Arc::clone(&notes);
            tokio::spawn(async move {
                while let Ok((request, command)) = read_request(&mut stream).await {
                    let awaited = command.contains_key("maxAwaitTimeMS");
                    notes.send_modify(|asked| asked.push(command));
                    let version = doc! { "processId": ObjectId::from_bytes([1; 12]), "counter": 7_i64 };
                    let hello = doc! {
                        "ok": 1, "isWritablePrimary": true, "helloOk": true, "minWireVersion": 0, "maxWireVersion": 25,
                        "topologyVersion": version, "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000,
                        "maxWriteBatchSize": 100_000, "$clusterTime": { "clusterTime": 1 },
                    };
                    if !awaited && stream.write_all(&reply_to(request, &hello)).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (uri, asked)
}

#[tokio::test]
async fn monitors_send_only_hello() {
    let (uri, mut asked) = recording_server().await;
    let log = Log::default();
    let _client = log.client(&uri, |options| {
        options.heartbeat_frequency = Duration::from_millis(500);
        options.connect_timeout = Duration::from_millis(500);
    });
    // An awaitable hello without reply fails after connectTimeoutMS and heartbeatFrequencyMS
    // together, and the next check begins. On a busy machine, a check before may fail.
    let failed_stream = |entry: &Entry| match entry {
        Entry::Sdam(SdamEvent::ServerHeartbeatFailed {
            awaited: true,
            duration,
            ..
        }) => Some(*duration),
        _ => None,
    };
    let failed = log.after(0, |entry| failed_stream(entry).is_some()).await;
    let duration = failed_stream(&log.entries()[failed - 1]);
    assert!(duration >= Some(Duration::from_secs(1)), "{duration:?}");
    log.after(failed, Entry::is_succeeded_check).await;
    // The RTT monitor sends hello without topologyVersion, which is answered immediately.
    let is_of_rtt_monitor =
        |command: &Document| command.contains_key("hello") && !command.contains_key("maxAwaitTimeMS");
    let asked = asked.wait_for(|asked| asked.iter().any(is_of_rtt_monitor));
    let asked = asked.await.unwrap().clone();
    let known: BTreeSet<&str> = [
        "hello",
        "isMaster",
        "helloOk",
        "backpressure",
        "client",
        "compression",
        "topologyVersion",
        "maxAwaitTimeMS",
        "$db",
    ]
    .into();
    for command in &asked {
        for key in command.keys() {
            assert!(known.contains(key.as_str()), "{command}");
        }
    }
    let awaited: Vec<_> = asked
        .iter()
        .filter(|command| command.contains_key("maxAwaitTimeMS"))
        .collect();
    assert!(
        !awaited.is_empty()
            && awaited
                .iter()
                .all(|hello| hello.get_i64("maxAwaitTimeMS").is_ok_and(|limit| limit == 500))
    );
}

#[tokio::test]
async fn a_client_that_is_dropped_immediately_leaves_no_task_and_no_connection() {
    let server = TestServer::builder()
        .standalone()
        .start()
        .await
        .expect("a server");
    let tasks = Handle::current().metrics().num_alive_tasks();
    for _ in 0..20 {
        drop(Client::connect(server.uri()).await.unwrap());
    }
    tasks_end(tasks).await;
    server.wait_for_open_connections(0).await;
}
