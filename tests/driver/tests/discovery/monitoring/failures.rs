//! Application errors: how they change the description of a server, and whether they request an
//! immediate check.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use marula_driver::{
    Client, ServerAddress,
    bson::{Bson, Document, doc, oid::ObjectId},
    event::{PoolEvent, SdamEvent, ServerType, TopologyType},
    internals::wait_for_topology,
    options::ServerMonitoringMode,
};
use marula_driver_tests::{Answer, Deployment, ScriptedServer, replica_set};

use super::log::{Entry, Log, fail, with};

/// A client that has discovered all members of a replica set, the primary, and the log of its
/// events.
struct Fixture {
    deployment: Deployment,
    client: Client,
    primary: ServerAddress,
    log: Log,
}

/// The only checks are the initial ones, requested ones, and those of the streaming protocol when
/// the server changes.
async fn fixture(mode: ServerMonitoringMode, options: &str) -> Fixture {
    let deployment = replica_set().await;
    let log = Log::default();
    let uri = with(&deployment.server.uri(), options);
    let client = log.client(&uri, |options| {
        options.heartbeat_frequency = Duration::from_secs(3600);
        options.server_monitoring_mode = mode;
    });
    let topology = wait_for_topology(&client, |topology| {
        topology
            .servers()
            .all(|server| server.server_type() != ServerType::Unknown)
            && topology.primary().is_some()
    })
    .await;
    let primary = topology.primary().expect("a primary").address().clone();
    Fixture {
        deployment,
        client,
        primary,
        log,
    }
}

impl Fixture {
    fn things(&self) -> marula_driver::Collection<Document> {
        self.client.database("d").collection("c")
    }

    /// Checks that the primary became Unknown, was checked immediately, and was discovered again.
    async fn primary_is_checked_again(&self, before: usize) {
        let lost = self
            .log
            .after(before, |entry| entry.is_loss_of(&self.primary))
            .await;
        let kinds = |entry: &Entry| format!("{entry:?}").contains("ReplicaSetNoPrimary");
        self.log.after(before, kinds).await;
        self.log
            .after(lost, |entry| entry.is_check_of(&self.primary))
            .await;
        wait_for_topology(&self.client, |topology| topology.primary().is_some()).await;
        assert_eq!(
            self.log.topology_type(),
            Some(TopologyType::ReplicaSetWithPrimary)
        );
    }
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_2_network_error_writing_to_primary() {
    let fixture = fixture(
        ServerMonitoringMode::Stream,
        "retryWrites=false&readPreference=secondary",
    )
    .await;
    let Fixture { primary, log, .. } = &fixture;
    log.after(0, |entry| entry.is_stream_of(primary)).await;
    let data = doc! { "failCommands": ["insert"], "closeConnection": true };
    fail(&fixture.deployment.client, doc! { "times": 1 }, data).await;
    let before = log.entries().len();
    let error = fixture.things().insert_one(&doc! {}).await.unwrap_err();
    assert!(error.is_network(), "{error}");
    let lost = log.after(before, |entry| entry.is_loss_of(primary)).await;
    assert_eq!(log.topology_type(), Some(TopologyType::ReplicaSetNoPrimary));
    // The check in progress ends, and no other one begins: the secondaries are still available.
    log.after(lost - 1, |entry| entry.is_failed_check_of(primary))
        .await;
    for _ in 0..3 {
        fixture.things().find_one(doc! {}).await.unwrap();
    }
    assert!(
        !log.entries()[lost..]
            .iter()
            .any(|entry| entry.is_check_of(primary)),
        "{:?}",
        &log.entries()[lost..]
    );
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_3_not_writable_primary_on_a_read() {
    let fixture = fixture(ServerMonitoringMode::Poll, "retryReads=false").await;
    let data = doc! { "failCommands": ["find"], "errorCode": 10107 };
    fail(&fixture.deployment.client, doc! { "times": 1 }, data).await;
    let before = fixture.log.entries().len();
    let error = fixture.things().find_one(doc! {}).await.unwrap_err();
    assert_eq!(error.code(), Some(10107));
    fixture.primary_is_checked_again(before).await;
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_4_node_is_recovering_on_a_secondary_read() {
    let fixture = fixture(
        ServerMonitoringMode::Poll,
        "retryReads=false&readPreference=secondary",
    )
    .await;
    for uri in fixture.deployment.server.member_uris() {
        let member = Client::connect(&uri).await.unwrap();
        let data = doc! { "failCommands": ["find"], "errorCode": 13436 };
        fail(&member, doc! { "times": 1 }, data).await;
    }
    let before = fixture.log.entries().len();
    let error = fixture.things().find_one(doc! {}).await.unwrap_err();
    assert_eq!(error.code(), Some(13436));
    let secondary = error
        .address()
        .expect("the server that returned the error")
        .clone();
    assert_ne!(secondary, fixture.primary);
    let lost = fixture
        .log
        .after(before, |entry| entry.is_loss_of(&secondary))
        .await;
    assert_eq!(
        fixture.log.topology_type(),
        Some(TopologyType::ReplicaSetWithPrimary)
    );
    fixture
        .log
        .after(lost, |entry| entry.is_check_of(&secondary))
        .await;
    wait_for_topology(&fixture.client, |topology| {
        let server = topology.server(&secondary).expect("a member");
        server.server_type() == ServerType::RsSecondary
    })
    .await;
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_5_node_is_recovering_in_a_write_concern_error() {
    let fixture = fixture(ServerMonitoringMode::Poll, "retryWrites=false").await;
    let concern = doc! { "code": 91, "errmsg": "Replication is being shut down" };
    let data = doc! { "failCommands": ["insert"], "writeConcernError": concern };
    fail(&fixture.deployment.client, doc! { "times": 1 }, data).await;
    let before = fixture.log.entries().len();
    fixture.things().insert_one(&doc! {}).await.unwrap_err();
    fixture.primary_is_checked_again(before).await;
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_7_topology_discovery_and_direct_connection() {
    let deployment = replica_set().await;
    let primary = deployment.server.primary();
    let secondary = deployment
        .server
        .addresses()
        .into_iter()
        .find(|address| Some(*address) != primary)
        .expect("a secondary");
    for (options, works) in [
        ("?directConnection=false", true),
        ("?directConnection=true", false),
        ("", true),
    ] {
        let client = Client::connect(format!("mongodb://{secondary}/{options}"))
            .await
            .unwrap();
        let things = client.database("d").collection::<Document>("c");
        let outcome = things.insert_one(&doc! {}).await;
        let code = outcome.as_ref().err().map(marula_driver::Error::code);
        assert_eq!(code, (!works).then_some(Some(10107)), "{options:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_9_pool_management() {
    let deployment = replica_set().await;
    let log = Log::default();
    let member = &deployment.server.member_uris()[0];
    let options = "appName=SDAMPoolManagementTest&heartbeatFrequencyMS=500";
    let _client = log.client(&with(member, options), |_| {});
    let setup = Client::connect(member).await.unwrap();
    let is_ready = |entry: &Entry| matches!(entry, Entry::Pool(PoolEvent::PoolReady { .. }));
    let is_cleared = |entry: &Entry| matches!(entry, Entry::Pool(PoolEvent::PoolCleared { .. }));
    let ready = log.after(0, is_ready).await;
    let checked = log.after(0, Entry::is_succeeded_check).await;
    assert!(checked < ready);
    // The specification uses `times: 2`, but one failure may occur in the RTT measurement, which
    // has no events.
    let data = doc! { "failCommands": ["hello", "isMaster"], "errorCode": 1234, "appName": "SDAMPoolManagementTest" };
    let command = doc! { "configureFailPoint": "failCommand", "mode": "alwaysOn", "data": data };
    setup
        .database("admin")
        .run_command(command)
        .await
        .expect("the fail point is set");
    let failed = log.after(ready, Entry::is_failed_check).await;
    let cleared = log.after(failed, is_cleared).await;
    super::log::stop_failing(&setup).await;
    let checked = log.after(cleared, Entry::is_succeeded_check).await;
    log.after(checked, is_ready).await;
}

/// Proxies and emulators report state changes without a `topologyVersion`, and need not push the new state: the awaited
/// check ends, and another follows at once.
#[tokio::test]
async fn a_state_change_without_a_topology_version_is_followed_by_a_check() {
    let version = doc! { "processId": ObjectId::new(), "counter": 1_i64 };
    // A standalone: the state of a mongos is not that of its shards.
    let hello = doc! { "topologyVersion": version, "logicalSessionTimeoutMinutes": 30, "msg": Bson::Null };
    let mut inserts = 0;
    let server = ScriptedServer::start(hello, move |request| match request.name() {
        _ if request.is_hello() && request.command.contains_key("maxAwaitTimeMS") => Answer::Silence,
        "insert" => {
            inserts += 1;
            match inserts {
                2 => Answer::Reply(doc! { "ok": 0, "code": 10107, "errmsg": "not writable primary" }),
                _ => Answer::Reply(doc! { "ok": 1, "n": 1 }),
            }
        }
        _ => Answer::Success,
    });
    let server = server.await;
    let log = Log::default();
    let client = log.client(&server.uri(""), |options| {
        options.heartbeat_frequency = Duration::from_secs(3600);
    });
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! {}).await.unwrap();
    let is_awaited = |entry: &Entry| {
        matches!(
            entry,
            Entry::Sdam(SdamEvent::ServerHeartbeatStarted { awaited: true, .. })
        )
    };
    log.after(0, is_awaited).await;
    let error = things.insert_one(&doc! {}).await.unwrap_err();
    assert_eq!(error.code(), Some(10107));
    things.insert_one(&doc! {}).await.unwrap();
}

/// A monitor that polls checks the server soon, on its connection.
#[tokio::test]
async fn a_state_change_without_a_topology_version_keeps_the_connection_of_a_polling_monitor() {
    let version = doc! { "processId": ObjectId::new(), "counter": 1_i64 };
    let hello = doc! { "topologyVersion": version, "msg": Bson::Null };
    let (mut inserts, hellos) = (0, Arc::new(Mutex::new([0, 0])));
    let counted = Arc::clone(&hellos);
    let server = ScriptedServer::start(hello, move |request| match request.name() {
        _ if request.is_hello() => {
            let is_handshake = request.command.contains_key("client");
            counted.lock().unwrap()[usize::from(is_handshake)] += 1;
            Answer::Success
        }
        "insert" => {
            inserts += 1;
            match inserts {
                2 => Answer::Reply(doc! { "ok": 0, "code": 10107, "errmsg": "not writable primary" }),
                _ => Answer::Reply(doc! { "ok": 1, "n": 1 }),
            }
        }
        _ => Answer::Success,
    });
    let server = server.await;
    let client = Log::default().client(&server.uri(""), |options| {
        options.heartbeat_frequency = Duration::from_secs(3600);
        options.server_monitoring_mode = ServerMonitoringMode::Poll;
    });
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! {}).await.unwrap();
    let error = things.insert_one(&doc! {}).await.unwrap_err();
    assert_eq!(error.code(), Some(10107));
    things.insert_one(&doc! {}).await.unwrap();
    // The handshakes are those of the monitor and of the pool.
    assert_eq!(*hellos.lock().unwrap(), [1, 2]);
}
