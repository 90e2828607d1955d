//! `$out` and `$merge` with a read preference other than primary (CRUD specification, "Read preferences and server
//! selection").

use std::sync::{Arc, OnceLock};

use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::wait_for_topology,
    options::{ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{Answer, ScriptedServer};

/// `maxWireVersion` of MongoDB 4.4 and 5.0.
const OF_4_4: i32 = 9;
const OF_5_0: i32 = 13;

/// A replica set of a primary of MongoDB 5.0 and a secondary with this `maxWireVersion`.
struct ReplicaSet {
    primary: ScriptedServer,
    secondary: ScriptedServer,
    client: Client,
}

impl ReplicaSet {
    async fn start(of_secondary: i32) -> Self {
        let hosts = Arc::<OnceLock<[String; 2]>>::default();
        let member = async |is_primary: bool, max_wire_version: i32| {
            let hosts = Arc::clone(&hosts);
            ScriptedServer::start(doc! {}, move |request| {
                if !request.is_hello() {
                    let cursor = doc! { "id": 0_i64, "ns": "d.things", "firstBatch": [] };
                    return Answer::Reply(doc! { "ok": 1, "cursor": cursor });
                }
                let Some(hosts) = hosts.get() else {
                    return Answer::Close;
                };
                Answer::Reply(doc! {
                    "ok": 1, "isWritablePrimary": is_primary, "secondary": !is_primary, "setName": "rs",
                    "hosts": hosts.to_vec(), "helloOk": true, "minWireVersion": 0, "maxWireVersion": max_wire_version,
                    "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
                })
            })
            .await
        };
        let (primary, secondary) = (member(true, OF_5_0).await, member(false, of_secondary).await);
        let host = |server: &ScriptedServer| server.uri("").replace("mongodb://", "").replace("/?", "");
        let names = [host(&primary), host(&secondary)];
        hosts.set(names.clone()).expect("set once");
        let uri = format!(
            "mongodb://{}/?replicaSet=rs&serverMonitoringMode=poll",
            names.join(",")
        );
        let client = Client::connect(uri).await.expect("a client");
        wait_for_topology(&client, |topology| {
            topology
                .servers()
                .all(|server| server.server_type().is_data_bearing())
        })
        .await;
        Self {
            primary,
            secondary,
            client,
        }
    }

    /// The aggregates that primary and secondary received.
    async fn aggregates(&self, stage: Document) -> [Vec<Document>; 2] {
        let things = self.client.database("d").collection::<Document>("things");
        let secondary = ReadPreference::new(ReadPreferenceMode::Secondary);
        let aggregated = things.aggregate([stage]).read_preference(secondary).await;
        aggregated.expect("a reply");
        [&self.primary, &self.secondary].map(|server| {
            let requests = server.requests_named("aggregate");
            requests.into_iter().map(|request| request.command).collect()
        })
    }
}

#[tokio::test]
async fn with_an_older_server_write_stages_have_a_primary_read_preference() {
    for stage in [doc! { "$out": "other" }, doc! { "$merge": { "into": "other" } }] {
        let [on_primary, on_secondary] = ReplicaSet::start(OF_4_4).await.aggregates(stage).await;
        assert_eq!((on_primary.len(), on_secondary.len()), (1, 0));
        assert!(
            !on_primary[0].contains_key("$readPreference"),
            "{}",
            on_primary[0]
        );
    }
}

#[tokio::test]
async fn without_older_servers_write_stages_have_their_read_preference() {
    let set = ReplicaSet::start(OF_5_0).await;
    let [on_primary, on_secondary] = set.aggregates(doc! { "$out": "other" }).await;
    assert_eq!((on_primary.len(), on_secondary.len()), (0, 1));
    let preference = on_secondary[0].get_document("$readPreference");
    assert_eq!(preference.ok(), Some(&doc! { "mode": "secondary" }));
}
