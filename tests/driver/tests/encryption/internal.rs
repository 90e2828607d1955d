//! The internal client of automatic encryption: what it shares with the client, and what a shutdown does to it.

use std::collections::HashSet;

use marula_driver::{
    Client,
    bson::{Document, doc},
    options::{ClientOptions, DriverInfo},
};
use marula_driver_tests::tap::WireTap;

use super::automatic::{Automatic, take};

/// Creates the collection with a schema, so that a later insert reads that schema and a data key.
async fn create_collection(automatic: &Automatic) {
    let database = automatic.setup.client().database("hospital");
    let validator = doc! { "$jsonSchema": automatic.schema() };
    let create = database.create_collection("patients").validator(validator);
    create.await.expect("a collection");
}

async fn insert(client: &Client) {
    let patients = client.database("hospital").collection::<Document>("patients");
    patients
        .insert_one(&doc! { "ssn": "123" })
        .await
        .expect("an insert");
}

pub(crate) async fn the_internal_client_has_the_appended_metadata() {
    let automatic = Automatic::new().await;
    create_collection(&automatic).await;
    let tap = WireTap::start(automatic.setup.deployment.server.addresses()[0]).await;
    let options = ClientOptions::parse(&tap.uri("maxPoolSize=2")).expect("options");
    let client = Client::with_auto_encryption(options, automatic.encryption_by_server()).expect("a client");
    client
        .append_metadata(DriverInfo::new("framework"))
        .expect("appended");
    insert(&client).await;
    let requests = tap.take_requests();
    let connections_with = |command: &str| -> HashSet<usize> {
        let with = requests.iter().filter(|request| request.command() == command);
        with.map(|request| request.connection).collect()
    };
    for command in ["listCollections", "find", "insert"] {
        let connections = connections_with(command);
        assert!(!connections.is_empty(), "{command}");
        for connection in connections {
            let handshake = requests
                .iter()
                .find(|request| request.connection == connection && request.is_hello())
                .expect("a handshake");
            let metadata = handshake.body.get_document("client").expect("metadata");
            let driver = metadata.get_document("driver").expect("a driver");
            let name = driver.get_str("name").expect("a name");
            assert!(name.ends_with("|framework"), "{command}: {name}");
        }
    }
}

pub(crate) async fn a_shutdown_ends_the_sessions_of_the_internal_client() {
    for pool in ["maxPoolSize=2", "maxPoolSize=0"] {
        let automatic = Automatic::new().await;
        create_collection(&automatic).await;
        let (client, sent) = automatic.client_with(pool, automatic.encryption_by_server());
        insert(&client).await;
        client.shutdown().await;
        let mut used = Vec::new();
        let mut ended = Vec::new();
        for (name, command) in take(&sent) {
            if name == "endSessions" {
                let ids = command.get_array("endSessions").expect("ids");
                ended.extend(ids.iter().filter_map(|id| id.as_document().cloned()));
            } else if let Ok(lsid) = command.get_document("lsid") {
                used.push(lsid.clone());
            }
        }
        assert!(!used.is_empty(), "{pool}");
        for lsid in used {
            assert!(ended.contains(&lsid), "{pool}: {lsid} of {ended:?}");
        }
    }
}
