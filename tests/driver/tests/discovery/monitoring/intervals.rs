//! Heartbeat intervals and round-trip times.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    event::{SdamEvent, ServerType},
    internals::wait_for_topology,
};
use marula_test_server::TestServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::log::{Entry, Log, fail, stop_failing, with};

mod timed {
    use super::*;

    #[tokio::test]
    async fn server_discovery_and_monitoring_prose_8_minimum_heartbeat_frequency() {
        let server = TestServer::builder().standalone().start().await.unwrap();
        let setup = Client::connect(server.uri()).await.unwrap();
        let name = "SDAMMinHeartbeatFrequencyTest";
        let data = doc! { "failCommands": ["hello", "isMaster"], "errorCode": 1234, "appName": name };
        fail(&setup, doc! { "times": 5 }, data).await;
        let options = format!("appName={name}&directConnection=true&serverSelectionTimeoutMS=5000");
        let client = Client::connect(with(&server.uri(), &options)).await.unwrap();
        let start = Instant::now();
        client
            .database("admin")
            .run_command(doc! { "ping": 1 })
            .await
            .unwrap();
        let took = start.elapsed();
        let limits = Duration::from_secs(2)..=Duration::from_millis(3500);
        assert!(limits.contains(&took), "{took:?}");
        stop_failing(&setup).await;
    }
}

/// The times of awaited replies: one about every 500 ms, and no others.
#[tokio::test]
async fn server_discovery_and_monitoring_prose_streaming() {
    for server in [
        TestServer::builder().standalone(),
        TestServer::builder().replica_set(),
        TestServer::builder().sharded(),
    ] {
        let server = server.start().await.unwrap();
        let log = Log::default();
        let _client = log.client(&with(&server.uri(), "heartbeatFrequencyMS=500"), |_| {});
        let first = log.after(0, |entry| awaited_reply(entry).is_some()).await;
        let recorded = log.entries()[first - 1].clone();
        let (address, _) = awaited_reply(&recorded).expect("filtered by the search");
        let from_server = |entry: &Entry| awaited_reply(entry).is_some_and(|(from, _)| from == address);
        let start = Instant::now();
        let mut place = first;
        for _ in 0..4 {
            place = log.after(place, from_server).await;
        }
        let took = start.elapsed();
        // The server waits 500 ms for each reply; if the first is read late, the distance to the
        // next is shorter. Without a wait they take milliseconds, with the default of 10 s longer than 30 s.
        let limits = Duration::from_millis(500)..Duration::from_secs(20);
        assert!(limits.contains(&took), "{took:?}");
        assert!(
            log.entries()[first..place]
                .iter()
                .all(|entry| !entry.is_failed_check()),
            "streaming continues"
        );
    }
}

fn awaited_reply(entry: &Entry) -> Option<(marula_driver::ServerAddress, Duration)> {
    match entry {
        Entry::Sdam(SdamEvent::ServerHeartbeatSucceeded {
            address,
            awaited: true,
            duration,
            ..
        }) => Some((address.clone(), *duration)),
        _ => None,
    }
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_rtt() {
    let server = TestServer::builder().replica_set().start().await.unwrap();
    let setup = Client::connect(server.uri()).await.unwrap();
    let log = Log::default();
    let uri = with(&server.uri(), "heartbeatFrequencyMS=500&appName=streamingRttTest");
    let client = log.client(&uri, |_| {});
    let things = client.database("d").collection::<Document>("c");
    things.find_one(doc! {}).await.unwrap();
    // The specification waits two seconds; this is the same number of heartbeats.
    let mut place = 0;
    for _ in 0..4 {
        place = log.after(place, |entry| awaited_reply(entry).is_some()).await;
    }
    let mut described = 0;
    for entry in log.entries() {
        if let Entry::Sdam(SdamEvent::ServerDescriptionChanged { new, .. }) = entry
            && new.server_type() != ServerType::Unknown
        {
            assert!(new.round_trip_time() > Some(Duration::ZERO), "{new}");
            described += 1;
        }
    }
    assert!(described > 0);
    let data = doc! {
        "failCommands": ["hello", "isMaster"], "blockConnection": true, "blockTimeMS": 500, "appName": "streamingRttTest",
    };
    fail(&setup, doc! { "times": 1000 }, data).await;
    let slow = wait_for_topology(&client, |topology| {
        topology
            .primary()
            .is_some_and(|primary| primary.round_trip_time() > Some(Duration::from_millis(250)))
    });
    tokio::time::timeout(Duration::from_secs(10), slow)
        .await
        .expect("the measured time rises within 10 s");
    stop_failing(&setup).await;
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_heartbeat() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let log = Log::default();
    let server = log.clone();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            server.push(Entry::Server("client connected"));
            let mut first = [0; 1];
            if matches!(stream.read(&mut first).await, Ok(1)) {
                server.push(Entry::Server("client hello received"));
            }
            let _ = stream.shutdown().await;
        }
    });
    let uri = format!("mongodb://{address}/?serverSelectionTimeoutMS=50");
    let client = log.client(&uri, |_| {});
    log.after(0, Entry::is_failed_check).await;
    client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap_err();
    let names = |entries: &[Entry]| -> Vec<&'static str> {
        let name = |entry: &Entry| match entry {
            Entry::Sdam(SdamEvent::ServerHeartbeatStarted { .. }) => Some("serverHeartbeatStartedEvent"),
            Entry::Sdam(SdamEvent::ServerHeartbeatFailed { .. }) => Some("serverHeartbeatFailedEvent"),
            Entry::Server(name) => Some(*name),
            _ => None,
        };
        entries.iter().filter_map(name).take(4).collect()
    };
    let first = Arc::new(names(&log.entries()));
    assert_eq!(
        **first,
        [
            "serverHeartbeatStartedEvent",
            "client connected",
            "client hello received",
            "serverHeartbeatFailedEvent"
        ]
    );
    task.abort();
}
