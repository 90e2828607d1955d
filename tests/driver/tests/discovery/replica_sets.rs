//! Discovery, server selection and elections with a replica set of three members.

use std::time::Duration;

use marula_driver::{
    Client, Collection, ServerAddress,
    bson::{Document, doc},
    event::{EventListener, SdamEvent},
    options::{ClientOptions, ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{Answer, ScriptedServer, replica_set};
use tokio::sync::watch;

#[tokio::test]
async fn the_primary_is_discovered_from_one_seed() {
    let deployment = replica_set().await;
    let primary = deployment.server.primary().expect("a primary");
    let secondary = deployment
        .server
        .addresses()
        .into_iter()
        .find(|a| *a != primary)
        .expect("a secondary");
    let client = Client::connect(format!("mongodb://{secondary}/?replicaSet=rs0"))
        .await
        .unwrap();
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 1);
}

#[tokio::test]
async fn secondaries_execute_reads_whose_read_preference_allows_it() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    for mode in [
        ReadPreferenceMode::Secondary,
        ReadPreferenceMode::SecondaryPreferred,
        ReadPreferenceMode::Nearest,
    ] {
        let reads = things.with_read_preference(ReadPreference::new(mode));
        assert_eq!(
            reads.find_one(doc! {}).await.unwrap(),
            Some(doc! { "_id": 1 }),
            "{}",
            mode.as_str()
        );
    }
}

#[tokio::test]
async fn a_direct_connection_reads_from_a_secondary_and_cannot_write_to_it() {
    let deployment = replica_set().await;
    deployment
        .client
        .database("d")
        .collection::<Document>("c")
        .insert_one(&doc! { "_id": 1 })
        .await
        .unwrap();
    let primary = deployment.server.primary().expect("a primary");
    let secondary = deployment
        .server
        .addresses()
        .into_iter()
        .find(|a| *a != primary)
        .expect("a secondary");
    let client = Client::connect(format!(
        "mongodb://{secondary}/?directConnection=true&retryWrites=false"
    ))
    .await
    .unwrap();
    let things = client.database("d").collection::<Document>("c");
    assert_eq!(things.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }));
    let error = things
        .insert_one(&doc! {})
        .await
        .expect_err("a secondary rejects writes");
    assert_eq!(error.code(), Some(10107), "{error}");
}

#[tokio::test]
async fn a_wrong_set_name_is_reported_by_server_selection() {
    let deployment = replica_set().await;
    let address = deployment.server.addresses()[0];
    let client = Client::connect(format!(
        "mongodb://{address}/?replicaSet=other&serverSelectionTimeoutMS=300"
    ))
    .await
    .unwrap();
    let error = client.list_database_names().await.expect_err("no such set");
    assert!(error.to_string().contains("other"), "{error}");
    assert!(
        error.to_string().contains(r#"belongs to the replica set "rs0""#),
        "{error}"
    );
}

const WRITERS: usize = 8;
const ELECTIONS: usize = 3;

/// Inserts until it is stopped, and counts the acknowledged inserts.
async fn write(counters: Collection<Document>, writer: usize, done: watch::Sender<usize>) -> usize {
    let mut acknowledged = 0;
    while !done.is_closed() {
        let id = format!("{writer}-{acknowledged}");
        counters
            .insert_one(&doc! { "_id": id })
            .await
            .expect("retryable writes hide an election");
        acknowledged += 1;
        done.send_replace(acknowledged);
    }
    acknowledged
}

/// Each write is executed exactly once in spite of elections. A write is retried once, so the next
/// election waits until every operation that the previous one may have affected has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_survive_elections() {
    let deployment = replica_set().await;
    let counters = deployment.collection::<Document>();
    let mut progress = Vec::new();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (sender, receiver) = watch::channel(0);
        progress.push(receiver);
        writers.push(tokio::spawn(write(counters.clone(), writer, sender)));
    }
    for _ in 0..ELECTIONS {
        for receiver in &mut progress {
            let now = *receiver.borrow();
            receiver
                .wait_for(|done| *done >= now + 2)
                .await
                .expect("the writer continues");
        }
        assert!(deployment.server.step_down(), "there is a primary to step down");
    }
    drop(progress);
    let mut acknowledged = 0;
    for writer in writers {
        acknowledged += writer.await.expect("no writer failed");
    }
    let stored = counters.count_documents(doc! {}).await.unwrap();
    assert_eq!(
        stored, acknowledged as u64,
        "each acknowledged write is stored exactly once"
    );
}

/// A client with a short heartbeat interval, and the primary in its current description.
fn connect(uri: &str) -> (Client, watch::Receiver<Option<ServerAddress>>) {
    let (found, primary) = watch::channel(None);
    let mut options = ClientOptions::parse(uri).expect("a connection string");
    options.heartbeat_frequency = Duration::from_millis(500);
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::TopologyDescriptionChanged { new, .. } = event {
            found.send_replace(new.primary().map(|server| server.address().clone()));
        }
    }));
    (Client::with_options(options).expect("a client"), primary)
}

#[tokio::test]
async fn a_new_primary_is_used_after_the_primary_stops() {
    let deployment = replica_set().await;
    let (client, mut found) = connect(&deployment.server.uri());
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    let primary = deployment.server.primary().expect("a primary");
    let index = deployment
        .server
        .addresses()
        .iter()
        .position(|a| *a == primary)
        .expect("a member");
    deployment.server.stop_member(index).await;
    // A refused connection has the label SystemOverloadedError and does not mark the server
    // Unknown, so the checks discover the new primary.
    found
        .wait_for(|now| {
            now.as_ref()
                .is_some_and(|now| now.to_string() != primary.to_string())
        })
        .await
        .unwrap();
    things.insert_one(&doc! { "_id": 2 }).await.unwrap();
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 2);
    deployment
        .server
        .restart_member(index)
        .await
        .expect("it starts again");
    assert_eq!(
        things.find_one(doc! { "_id": 2 }).await.unwrap(),
        Some(doc! { "_id": 2 })
    );
}

/// A server states the members before it is authenticated: too many would each get a pool, monitors and connections.
#[tokio::test]
async fn a_server_that_lists_thousands_of_members_is_refused_by_name() {
    let hosts: Vec<String> = (0..3_000).map(|host| format!("h{host}.invalid:1")).collect();
    let hello = doc! { "msg": "", "setName": "rs", "hosts": hosts, "logicalSessionTimeoutMinutes": 30 };
    let server = ScriptedServer::start(hello, |_| Answer::Success).await;
    let client = Client::connect(server.uri("replicaSet=rs&serverSelectionTimeoutMS=300"))
        .await
        .unwrap();
    let error = client.list_database_names().await.expect_err("too many members");
    assert!(format!("{error:#}").contains("3000 members"), "{error:#}");
    let topology = client.topology_description();
    assert_eq!(topology.servers().count(), 1, "{topology:?}");
}

/// Members that each list others must not grow the topology without a limit.
#[tokio::test]
async fn members_that_list_others_do_not_exceed_the_limit_together() {
    let list =
        |prefix: &str| -> Vec<String> { (0..150).map(|host| format!("{prefix}{host}.invalid:1")).collect() };
    let hello = |prefix| {
        doc! { "msg": "", "isWritablePrimary": false, "ismaster": false, "secondary": true, "setName": "rs", "hosts": list(prefix) }
    };
    let first = ScriptedServer::start(hello("a"), |_| Answer::Success).await;
    let second = ScriptedServer::start(hello("b"), |_| Answer::Success).await;
    let hosts = |server: &ScriptedServer| {
        let uri = server.uri("");
        uri.trim_start_matches("mongodb://")
            .trim_end_matches(['/', '?'])
            .to_owned()
    };
    let uri = format!(
        "mongodb://{},{}/?replicaSet=rs&serverSelectionTimeoutMS=300",
        hosts(&first),
        hosts(&second)
    );
    let client = Client::connect(uri).await.unwrap();
    let error = client.list_database_names().await.expect_err("no primary");
    assert!(error.to_string().contains("200 are permitted"), "{error}");
    assert!(client.topology_description().servers().count() <= 200);
}
