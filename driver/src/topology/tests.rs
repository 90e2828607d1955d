//! Selections that end, and errors that change the description of the deployment or change nothing.

use std::{collections::BTreeMap, time::Instant};

use proptest::prelude::*;

use super::*;
use crate::{
    AuthenticationError, AuthenticationFailure, BulkWriteError, CommandError, NetworkPhase, PoolError,
    WriteConcernError, WriteError, WriteFailure,
    bson::{ObjectId, rawdoc},
    connection::ConnectionSettings,
    pool::PoolSettings,
    proto::{
        description::{HelloReply, ServerDescription, TopologyVersion},
        handshake::client_metadata,
        wire::tests::config,
    },
};

fn settings() -> TopologySettings {
    TopologySettings {
        seeds: vec![ServerAddress::tcp("127.0.0.1", 9)],
        direct: false,
        replica_set: None,
        server_selection_timeout: Duration::from_secs(3600),
        local_threshold: Duration::from_millis(15),
        heartbeat_frequency: Duration::from_secs(10),
        streaming: true,
        connection: ConnectionSettings::new(Duration::from_secs(10), client_metadata(None).unwrap()),
        srv: None,
        pool: PoolSettings {
            max_pool_size: 1,
            max_connecting: 1,
            ..PoolSettings::default()
        },
        listener: None,
    }
}

#[tokio::test]
async fn operations_do_not_wait_for_a_removed_server() {
    let topology = Topology::start(settings());
    let gone = ServerAddress::tcp("gone", 1);
    let error = topology
        .select(
            Criteria::Address(&gone),
            &[],
            Patience::UntilDeadline,
            Deadline::NEVER,
            |_| {},
        )
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("no longer part of the deployment"),
        "{error}"
    );
}

/// Nothing listens on the port of the seed.
#[tokio::test]
async fn a_selection_ends_at_the_failed_check_of_its_server_or_does_not_wait() {
    let topology = Topology::start(settings());
    let seed = ServerAddress::tcp("127.0.0.1", 9);
    for patience in [Patience::None, Patience::UntilFailedCheck] {
        let criteria = Criteria::Address(&seed);
        let selected = topology.select(criteria, &[], patience, Deadline::NEVER, |_| {});
        let error = selected.await.unwrap_err();
        assert!(error.to_string().contains("not available now"), "{error}");
    }
}

#[tokio::test]
async fn a_selection_ends_when_the_client_does() {
    let topology = Topology::start(settings());
    let waiting = topology.select(
        Criteria::Writable,
        &[],
        Patience::UntilDeadline,
        Deadline::NEVER,
        |_| {},
    );
    let (selected, ()) = tokio::join!(waiting, async { topology.close() });
    assert!(matches!(selected.unwrap_err().kind(), ErrorKind::Shutdown));
}

const SERVICE: ObjectId = ObjectId::from_bytes([7; 12]);

/// What the client is connected to, as a hello shows it.
fn hello(kind: TopologyType) -> HelloReply {
    let mut hello = HelloReply {
        is_writable_primary: true,
        max_wire_version: 25,
        topology_version: Some(TopologyVersion {
            process_id: ObjectId::from_bytes([1; 12]),
            counter: 1,
        }),
        ..HelloReply::default()
    };
    match kind {
        TopologyType::ReplicaSetWithPrimary => {
            hello.set_name = Some("rs".to_owned());
            hello.hosts = vec!["127.0.0.1:9".to_owned()];
        }
        TopologyType::Sharded => hello.msg = Some("isdbgrid".to_owned()),
        _ => {}
    }
    hello
}

/// A deployment whose one server is known. No monitor runs before the first await.
fn known(kind: TopologyType) -> Arc<Topology> {
    let mut settings = settings();
    settings.direct = kind == TopologyType::Single;
    settings.connection.load_balanced = kind == TopologyType::LoadBalanced;
    let address = settings.seeds[0].clone();
    let topology = Topology::start(settings);
    if kind != TopologyType::LoadBalanced {
        let checked = ServerDescription::from_hello(address, hello(kind), Duration::ZERO, Instant::now());
        topology.shared.on_check_succeeded(checked);
    }
    assert_eq!(topology.description().topology_type(), kind);
    topology
}

/// Error codes that are unrelated to the state of the server.
const CODES: [i32; 14] = [1, 2, 11, 13, 18, 26, 43, 48, 50, 59, 64, 112, 11000, 391];

/// Errors caused by the application or its command, or that occur before anything is sent.
fn mistake() -> impl Strategy<Value = Error> {
    let code = || prop::sample::select(CODES.to_vec());
    let refusal = |code| CommandError {
        code,
        message: "not primary or not, the code counts".to_owned(),
        ..CommandError::default()
    };
    let write_error = |code| WriteError {
        code,
        ..WriteError::default()
    };
    let concern = |code| WriteConcernError {
        code,
        ..WriteConcernError::default()
    };
    let kind = prop_oneof![
        Just(ErrorKind::InvalidArgument("the message is too large".to_owned())),
        Just(ErrorKind::InvalidReply("there is no cursor".to_owned())),
        Just(ErrorKind::Unsupported("a hint".to_owned())),
        Just(ErrorKind::Shutdown),
        Just(ErrorKind::Encode(crate::bson::to_vec(&1).unwrap_err())),
        Just(ErrorKind::Decode(crate::bson::from_slice::<u8>(&[]).unwrap_err())),
        Just(ErrorKind::Pool(PoolError::Closed {
            address: ServerAddress::tcp("127.0.0.1", 9)
        })),
        code().prop_map(move |code| ErrorKind::Command(refusal(code))),
        code().prop_map(move |code| {
            let failure = AuthenticationFailure::Refused(refusal(code));
            ErrorKind::Authentication(AuthenticationError::new("SCRAM-SHA-256", failure))
        }),
        (prop::option::of(code()), prop::option::of(code())).prop_map(move |(write, other)| {
            ErrorKind::Write(WriteFailure {
                write_error: write.map(write_error),
                write_concern_error: other.map(concern),
            })
        }),
        (prop::collection::vec(code(), 0..3), prop::option::of(code())).prop_map(move |(writes, other)| {
            ErrorKind::BulkWrite(Box::new(BulkWriteError {
                write_errors: writes.into_iter().map(write_error).collect(),
                write_concern_error: other.map(concern),
                inserted_ids: BTreeMap::new(),
                ..BulkWriteError::default()
            }))
        }),
    ];
    let labels = prop::sample::subsequence(
        vec![
            "RetryableWriteError",
            "SystemOverloadedError",
            "RetryableError",
            "Other",
        ],
        0..4,
    );
    (kind, labels, 0..4_i64).prop_map(|(kind, labels, counter)| {
        let version = rawdoc! { "processId": ObjectId::from_bytes([1; 12]), "counter": counter };
        Error::new(kind)
            .with_labels(labels.into_iter().map(str::to_owned))
            .with_response(&rawdoc! { "ok": 1, "topologyVersion": version })
    })
}

const KINDS: [TopologyType; 4] = [
    TopologyType::Single,
    TopologyType::ReplicaSetWithPrimary,
    TopologyType::Sharded,
    TopologyType::LoadBalanced,
];

/// What an error of an operation does: whether another snapshot was published, and the generation
/// of the pool.
fn effect(kind: TopologyType, errors: &[Error]) -> (bool, u64) {
    let topology = known(kind);
    let service = (kind == TopologyType::LoadBalanced).then_some(SERVICE);
    let address = ServerAddress::tcp("127.0.0.1", 9);
    let key = ConnectionKey {
        id: 1,
        generation: 0,
        service_id: service,
    };
    let before = topology.shared.snapshot.load_full();
    let pool = Arc::clone(&before.servers[&address].pool);
    for error in errors {
        topology.shared.handle_error(&address, key, error);
    }
    let after = topology.shared.snapshot.load_full();
    (!Arc::ptr_eq(&before, &after), pool.generation(None))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_mistake_of_the_application_changes_the_description_or_the_pool(
        kind in prop::sample::select(KINDS.to_vec()),
        errors in prop::collection::vec(mistake(), 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        prop_assert_eq!(effect(kind, &errors), (false, 0), "{:?}", errors);
    }
}

#[tokio::test]
async fn a_lost_socket_and_a_state_change_do_change_it() {
    let lost = Error::network(NetworkPhase::Read, std::io::ErrorKind::ConnectionReset.into());
    let shutdown = Error::new(ErrorKind::Write(WriteFailure {
        write_error: Some(WriteError::default()),
        write_concern_error: Some(WriteConcernError {
            code: 91,
            ..WriteConcernError::default()
        }),
    }));
    for error in [lost, shutdown, Error::protocol("nonsense")] {
        for kind in KINDS {
            let expected = match kind {
                // The load balancer stays what it is, and no service has connections.
                TopologyType::LoadBalanced => (false, 0),
                _ => (true, 1),
            };
            assert_eq!(
                effect(kind, std::slice::from_ref(&error)),
                expected,
                "{kind:?}: {error}"
            );
        }
    }
}
