//! What the members of one server instance share: storage, topology, the clock, sessions and counters.

use crate::events::Events;
use crate::replica_set::Topology;
use crate::session::Sessions;
use crate::settings::{self, Kind, Settings};
use crate::storage::Catalog;
use crate::version::Version;
use bson::{Binary, Document, Timestamp, doc};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Locks a mutex; a holder that panicked ended only its own connection.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shared state of one server instance.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) version: Version,
    pub(crate) kind: Kind,
    /// The replica set's name; `None` for other deployments.
    pub(crate) set_name: Option<String>,
    /// The address of every process.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The names under which the processes are known, one for each address.
    pub(crate) hosts: Vec<String>,
    pub(crate) events: Arc<Events>,
    pub(crate) sessions: Sessions,
    pub(crate) started: SystemTime,
    parameters: Mutex<Document>,
    catalog: Mutex<Catalog>,
    topology: Mutex<Topology>,
    topology_changed: watch::Sender<()>,
    clock: Mutex<Timestamp>,
    next_connection_id: AtomicI32,
}

impl Deployment {
    pub(crate) fn new(settings: Settings, addresses: Vec<SocketAddr>) -> Deployment {
        let set_name = (settings.kind == Kind::ReplicaSet).then_some(settings.set_name);
        let topology = Topology::new(addresses.len(), set_name.is_some());
        let hosts = settings
            .advertised_hosts
            .unwrap_or_else(|| addresses.iter().map(ToString::to_string).collect());
        let mut parameters = settings::default_parameters(settings.kind, settings.version);
        parameters.extend(settings.parameters);
        Deployment {
            version: settings.version,
            kind: settings.kind,
            set_name,
            addresses,
            hosts,
            parameters: Mutex::new(parameters),
            events: Events::new(),
            sessions: Sessions::default(),
            started: SystemTime::now(),
            catalog: Mutex::default(),
            topology: Mutex::new(topology),
            topology_changed: watch::Sender::new(()),
            clock: Mutex::new(Timestamp {
                time: seconds_now(),
                increment: 1,
            }),
            next_connection_id: AtomicI32::new(1),
        }
    }

    /// The storage, locked: commands run one at a time on it.
    pub(crate) fn catalog(&self) -> MutexGuard<'_, Catalog> {
        lock(&self.catalog)
    }

    /// Reads the topology.
    pub(crate) fn topology<T>(&self, read: impl FnOnce(&Topology) -> T) -> T {
        read(&lock(&self.topology))
    }

    /// Changes the topology and wakes every waiting hello.
    pub(crate) fn change_topology<T>(&self, change: impl FnOnce(&mut Topology) -> T) -> T {
        let result = change(&mut lock(&self.topology));
        self.topology_changed.send_replace(());
        result
    }

    /// Tells of topology changes from now on.
    pub(crate) fn topology_changes(&self) -> watch::Receiver<()> {
        self.topology_changed.subscribe()
    }

    /// Removes expired documents.
    pub(crate) fn run_ttl_monitor(&self) -> usize {
        let removed = self.catalog().remove_expired(bson::DateTime::now());
        if removed > 0 {
            self.tick();
        }
        removed
    }

    /// Whether clients talk to the members of a set.
    pub(crate) fn is_replica_set(&self) -> bool {
        self.set_name.is_some()
    }

    /// Whether clients talk to mongos.
    pub(crate) fn is_mongos(&self) -> bool {
        self.kind.is_mongos()
    }

    /// Whether the data lies on a replica set, behind a mongos or not: what sessions, transactions and change streams need.
    pub(crate) fn is_replicated(&self) -> bool {
        self.kind != Kind::Single
    }

    /// How many members hold the data.
    pub(crate) fn data_members(&self) -> usize {
        if self.is_replicated() {
            Kind::ReplicaSet.processes()
        } else {
            1
        }
    }

    /// The server parameters.
    pub(crate) fn parameters(&self) -> MutexGuard<'_, Document> {
        lock(&self.parameters)
    }

    /// Whether a boolean server parameter is on.
    pub(crate) fn parameter_is_on(&self, name: &str) -> bool {
        self.parameters().get(name).is_some_and(crate::value::truthy)
    }

    pub(crate) fn next_connection_id(&self) -> i32 {
        self.next_connection_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The time of the last write.
    pub(crate) fn operation_time(&self) -> Timestamp {
        *lock(&self.clock)
    }

    /// Moves the logical clock on for a write.
    pub(crate) fn tick(&self) -> Timestamp {
        let mut clock = lock(&self.clock);
        let now = seconds_now();
        *clock = if now > clock.time {
            Timestamp {
                time: now,
                increment: 1,
            }
        } else {
            Timestamp {
                time: clock.time,
                increment: clock.increment.wrapping_add(1),
            }
        };
        *clock
    }

    /// Takes over a later cluster time that a client has seen elsewhere.
    pub(crate) fn gossip(&self, seen: Timestamp) {
        let mut clock = lock(&self.clock);
        // A time far in the future is a mistake, and would stop the clock for ever.
        let plausible = seen.time < seconds_now().saturating_add(365 * 24 * 3600);
        if plausible && (seen.time, seen.increment) > (clock.time, clock.increment) {
            *clock = seen;
        }
    }

    /// The `$clusterTime` and `operationTime` of a reply, which standalones do not send.
    pub(crate) fn add_cluster_time(&self, reply: &mut Document) {
        let time = self.operation_time();
        let hash = Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![0; 20],
        };
        reply.insert(
            "$clusterTime",
            doc! { "clusterTime": time, "signature": { "hash": hash, "keyId": 0_i64 } },
        );
        reply.insert("operationTime", time);
    }
}

fn seconds_now() -> u32 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() as u32)
}
