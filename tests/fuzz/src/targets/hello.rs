//! The fuzz target for hello replies, and for what the driver does with their figures.

use std::time::{Duration, Instant};

use marula_driver::{
    ServerAddress,
    bson::{DateTime, Document, ObjectId, doc, to_vec},
    internals::{
        description::{MAX_MEMBERS, ServerDescription, TopologyDescription},
        handshake::parse_hello,
        sdam,
    },
};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "hello",
    run,
    seeds,
};

/// The most bytes that the driver sends in a message, and the most statements in a command.
const LIMITS: (usize, usize) = (48_000_000, 100_000);

fn run(bytes: &[u8]) {
    let Ok(hello) = parse_hello(bytes) else { return };
    assert!(
        hello
            .max_message_size()
            .is_none_or(|size| (1..=LIMITS.0).contains(&size))
    );
    assert!((1..=LIMITS.0).contains(&hello.max_document_size()));
    assert!((1..=LIMITS.1).contains(&hello.max_batch_size()));
    let now = Instant::now();
    let seeds = ["a", "b", "c"].map(|host| ServerAddress::tcp(host, 27_017));
    for set_name in [None, Some("rs".to_owned())] {
        let mut topology = TopologyDescription::initial(seeds.clone(), false, set_name);
        // Each server replies in turn, as members that list others.
        for _ in 0..2 {
            let members: Vec<ServerAddress> = topology.servers().map(|s| s.address().clone()).collect();
            for address in members.into_iter().take(4) {
                let time = Duration::from_millis(1);
                let server = ServerDescription::from_hello(address, hello.clone(), time, now);
                let _ = sdam::apply(&mut topology, server);
                let count = topology.servers().count();
                assert!(count <= MAX_MEMBERS + seeds.len(), "{count} servers");
            }
        }
        assert!(!topology.to_string().is_empty());
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let hosts = |count: usize| -> Vec<String> { (0..count).map(|host| format!("h{host}:1")).collect() };
    let figures = doc! {
        "ok": 1, "maxWireVersion": 25, "minWireVersion": 0, "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000_i64,
        "maxWriteBatchSize": 100_000, "logicalSessionTimeoutMinutes": 30, "connectionId": 7,
    };
    let with = |fields: Document| {
        let mut hello = figures.clone();
        hello.extend(fields);
        to_vec(&hello).expect("a document")
    };
    vec![
        with(doc! { "isWritablePrimary": true, "msg": "isdbgrid" }),
        with(doc! {
            "isWritablePrimary": true, "setName": "rs", "hosts": hosts(3), "me": "a:27017", "setVersion": 3_i64,
            "electionId": ObjectId::from_bytes([1; 12]), "lastWrite": { "lastWriteDate": DateTime::from_millis(5) },
            "topologyVersion": { "processId": ObjectId::from_bytes([2; 12]), "counter": 6_i64 },
        }),
        with(
            doc! { "secondary": true, "setName": "rs", "hosts": hosts(50), "passives": ["p:1"], "arbiters": ["r:1"],
            "primary": "h0:1", "tags": { "dc": "ny" } },
        ),
        with(doc! { "maxMessageSizeBytes": i64::MAX, "maxWriteBatchSize": i64::MIN, "maxBsonObjectSize": 0 }),
        with(doc! { "setName": "rs", "secondary": true, "hosts": hosts(199) }),
    ]
}
