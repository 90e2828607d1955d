//! Pool events and SDAM events through the public API.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    event::{EventListener, PoolEvent, SdamEvent, ServerType, TopologyType},
    options::{ClientOptions, ServerMonitoringMode},
};
use marula_driver_tests::{replica_set, standalone};

type Log = Arc<Mutex<Vec<String>>>;

fn name(event: &SdamEvent) -> String {
    match event {
        SdamEvent::TopologyOpening { .. } => "topology opening".to_owned(),
        SdamEvent::TopologyDescriptionChanged { previous, new, .. } => {
            format!("topology {} -> {}", previous.topology_type(), new.topology_type())
        }
        SdamEvent::TopologyClosed { .. } => "topology closed".to_owned(),
        SdamEvent::ServerOpening { .. } => "server opening".to_owned(),
        SdamEvent::ServerDescriptionChanged { previous, new, .. } => {
            format!("server {} -> {}", previous.server_type(), new.server_type())
        }
        SdamEvent::ServerClosed { .. } => "server closed".to_owned(),
        SdamEvent::ServerHeartbeatStarted { awaited: false, .. } => "heartbeat".to_owned(),
        SdamEvent::ServerHeartbeatSucceeded { awaited: false, .. } => "heartbeat ok".to_owned(),
        SdamEvent::ServerHeartbeatFailed { awaited: false, .. } => "heartbeat failed".to_owned(),
        other => format!("unexpected {other:?}"),
    }
}

fn client(uri: &str) -> (Client, Log, Log) {
    let (sdam, pool) = (Log::default(), Log::default());
    let mut options = ClientOptions::parse(uri).expect("a connection string");
    // With streaming, the server would be checked again immediately.
    options.server_monitoring_mode = ServerMonitoringMode::Poll;
    options.heartbeat_frequency = Duration::from_secs(3600);
    let sink = Arc::clone(&sdam);
    options.sdam_listener = Some(EventListener::new(move |event| {
        sink.lock().expect("no panic").push(name(event));
    }));
    let sink = Arc::clone(&pool);
    options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
        let text = format!("{event:?}");
        let end = text.find([' ', '{']).unwrap_or(text.len());
        sink.lock().expect("no panic").push(text[..end].to_owned());
    }));
    (Client::with_options(options).expect("a client"), sdam, pool)
}

fn take(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().expect("no panic"))
}

#[tokio::test]
async fn events_of_a_standalone_server_are_in_order() {
    let deployment = standalone().await;
    let (client, sdam, pool) = client(&deployment.server.uri());
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    assert_eq!(
        take(&sdam),
        [
            "topology opening",
            "topology Unknown -> Unknown",
            "server opening",
            "heartbeat",
            "heartbeat ok",
            "server Unknown -> Standalone",
            "topology Unknown -> Single",
        ]
    );
    assert_eq!(
        take(&pool),
        [
            "PoolCreated",
            "PoolReady",
            "ConnectionCheckOutStarted",
            "ConnectionCreated",
            "ConnectionReady",
            "ConnectionCheckedOut",
            "ConnectionCheckedIn",
        ]
    );
    client.shutdown().await;
    let last = take(&sdam);
    assert_eq!(
        last,
        ["server closed", "topology Single -> Unknown", "topology closed"]
    );
    // The shutdown first sends endSessions.
    let last = take(&pool);
    assert_eq!(last[last.len() - 2..], ["ConnectionClosed", "PoolClosed"]);
    assert_eq!(last.iter().filter(|name| *name == "PoolClosed").count(), 1);
}

#[tokio::test]
async fn a_check_in_progress_ends_with_the_client() {
    // Accepts connections and does not answer.
    let silent = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = silent.local_addr().unwrap();
    let (client, sdam, _) = client(&format!("mongodb://{address}/"));
    let (_socket, _) = silent.accept().await.unwrap();
    client.shutdown().await;
    assert_eq!(
        take(&sdam)[3..],
        [
            "heartbeat",
            "heartbeat failed",
            "server closed",
            "topology Unknown -> Unknown",
            "topology closed"
        ]
    );
}

#[tokio::test]
async fn the_topology_description_is_public() {
    let deployment = replica_set().await;
    let (sender, mut receiver) = tokio::sync::watch::channel(None);
    let mut options = ClientOptions::parse(&deployment.server.uri()).unwrap();
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::TopologyDescriptionChanged { new, .. } = event {
            sender.send_replace(Some(Arc::clone(new)));
        }
    }));
    let _client = Client::with_options(options).unwrap();
    let complete = receiver
        .wait_for(|topology| {
            topology.as_ref().is_some_and(|topology| {
                topology
                    .servers()
                    .all(|server| server.error().is_none() && server.last_update().is_some())
            })
        })
        .await
        .unwrap()
        .clone()
        .expect("a description");
    assert_eq!(complete.topology_type(), TopologyType::ReplicaSetWithPrimary);
    assert_eq!(
        (complete.set_name(), complete.is_compatible()),
        (Some("rs0"), true)
    );
    assert!(complete.has_writable_server());
    let primary = complete.primary().expect("a primary");
    assert_eq!(primary.server_type(), ServerType::RsPrimary);
    assert_eq!(primary.hosts().len(), 3);
    assert!(primary.round_trip_time().is_some() && primary.max_wire_version() > Some(8));
    assert_eq!(primary.me(), Some(primary.address()));
    assert!(complete.logical_session_timeout().is_some());
    assert_eq!(complete.server(primary.address()), Some(primary));
}
