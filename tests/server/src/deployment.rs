//! The state that the processes of one server instance share: storage, topology, logical clock,
//! sessions and counters.

use crate::auth::Users;
use crate::auth::scram::Hash;
use crate::command::system;
use crate::command::users::iterations;
use crate::events::Events;
use crate::index_build::IndexBuilds;
use crate::refusal::ServerProfile;
use crate::replica_set::Topology;
use crate::session::Sessions;
use crate::settings::{self, Kind, Settings};
use crate::storage::Catalog;
use crate::storage::change::Oplog;
use crate::version::Version;
use crate::violation::Violations;
use crate::wire::compress::Compressor;
use bson::{Binary, Document, Timestamp, doc};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

/// Locks a mutex and ignores poisoning: a panic closes only the connection on which it happened.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of snapshots kept for reads with `atClusterTime`.
const KEPT_SNAPSHOTS: usize = 64;

/// The catalog at earlier cluster times, oldest first.
#[derive(Debug, Default)]
struct Snapshots(VecDeque<(Timestamp, Arc<Mutex<Catalog>>)>);

impl Snapshots {
    fn find(&self, time: Timestamp) -> Option<Arc<Mutex<Catalog>>> {
        let found = self.0.iter().find(|(kept, _)| *kept == time);
        found.map(|(_, catalog)| Arc::clone(catalog))
    }

    fn keep(&mut self, time: Timestamp, catalog: Catalog) -> Arc<Mutex<Catalog>> {
        if self.0.len() >= KEPT_SNAPSHOTS {
            self.0.pop_front();
        }
        let catalog = Arc::new(Mutex::new(catalog));
        self.0.push_back((time, Arc::clone(&catalog)));
        catalog
    }
}

/// The locked catalog of the deployment or of a transaction.
pub(crate) struct CatalogGuard<'d> {
    catalog: MutexGuard<'d, Catalog>,
    changes_to: Option<&'d Deployment>,
}

impl<'d> CatalogGuard<'d> {
    /// Locks a catalog that is private to a transaction or snapshot read. Changes are not written
    /// to the oplog.
    pub(crate) fn isolated(catalog: &'d Mutex<Catalog>) -> CatalogGuard<'d> {
        CatalogGuard {
            catalog: lock(catalog),
            changes_to: None,
        }
    }
}

impl Deref for CatalogGuard<'_> {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        &self.catalog
    }
}

impl DerefMut for CatalogGuard<'_> {
    fn deref_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }
}

impl Drop for CatalogGuard<'_> {
    fn drop(&mut self) {
        if let Some(deployment) = self.changes_to {
            deployment.log_changes(&mut self.catalog);
        }
    }
}

/// The shared state of one server instance.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) version: Version,
    pub(crate) kind: Kind,
    /// The compressors that a connection can negotiate.
    pub(crate) compressors: Vec<Compressor>,
    /// The name of the replica set; `None` for other deployments.
    pub(crate) set_name: Option<String>,
    /// The addresses of all processes.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The advertised `host:port` of each address.
    pub(crate) hosts: Vec<String>,
    pub(crate) events: Arc<Events>,
    pub(crate) sessions: Sessions,
    pub(crate) violations: Violations,
    pub(crate) index_builds: IndexBuilds,
    /// `None` for connections without TLS.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) users: Users,
    /// Whether search indexes and the stages of Atlas Search are enabled.
    pub(crate) search: bool,
    pub(crate) started: SystemTime,
    parameters: Mutex<Document>,
    /// The databases with `enableSharding`.
    sharded_databases: Mutex<BTreeSet<String>>,
    catalog: Mutex<Catalog>,
    oplog: Mutex<Oplog>,
    snapshots: Mutex<Snapshots>,
    data_changed: watch::Sender<()>,
    topology: Mutex<Topology>,
    topology_changed: watch::Sender<()>,
    clock: Mutex<Timestamp>,
    next_connection_id: AtomicI32,
}

impl Deployment {
    pub(crate) fn new(settings: Settings, addresses: Vec<SocketAddr>) -> Deployment {
        let set_name = (settings.kind == Kind::ReplicaSet).then_some(settings.replica_set_name);
        let topology = Topology::new(addresses.len(), set_name.is_some());
        let hosts = settings
            .advertised_hosts
            .unwrap_or_else(|| addresses.iter().map(ToString::to_string).collect());
        let initial_hosts = hosts.clone();
        let mut parameters = settings::default_parameters(settings.kind, settings.version);
        parameters.extend(settings.parameters);
        let iterations = Hash::ALL.map(|hash| iterations(&parameters, hash));
        Deployment {
            version: settings.version,
            kind: settings.kind,
            compressors: settings.compressors,
            set_name,
            addresses,
            hosts,
            parameters: Mutex::new(parameters),
            sharded_databases: Mutex::default(),
            events: Events::new(),
            sessions: Sessions::default(),
            violations: Violations::new(settings.print_violations),
            index_builds: IndexBuilds::default(),
            tls: settings.tls,
            users: Users::new(settings.access, iterations),
            search: settings.search,
            started: SystemTime::now(),
            catalog: Mutex::new(system::catalog(settings.kind, settings.version, &initial_hosts)),
            oplog: Mutex::default(),
            snapshots: Mutex::default(),
            data_changed: watch::Sender::new(()),
            topology: Mutex::new(topology),
            topology_changed: watch::Sender::new(()),
            clock: Mutex::new(Timestamp {
                time: seconds_now(),
                increment: 1,
            }),
            next_connection_id: AtomicI32::new(1),
        }
    }

    /// Locks the catalog; commands access it one at a time. Changes are appended to the oplog when
    /// the guard is dropped.
    pub(crate) fn catalog(&self) -> CatalogGuard<'_> {
        CatalogGuard {
            catalog: lock(&self.catalog),
            changes_to: Some(self),
        }
    }

    /// Moves the recorded changes of the catalog to the oplog.
    fn log_changes(&self, catalog: &mut Catalog) {
        let changes = catalog.take_changes();
        if changes.is_empty() {
            return;
        }
        if self.is_replicated() {
            let mut oplog = lock(&self.oplog);
            for change in changes {
                oplog.push(self.tick(), change);
            }
        }
        self.data_changed.send_replace(());
    }

    /// Receives a notification of every write from now on.
    pub(crate) fn data_changes(&self) -> watch::Receiver<()> {
        self.data_changed.subscribe()
    }

    /// Locks the oplog.
    pub(crate) fn oplog(&self) -> MutexGuard<'_, Oplog> {
        lock(&self.oplog)
    }

    /// Returns the current operation time and a snapshot of the catalog, which is kept for reads at
    /// the same time.
    pub(crate) fn snapshot(&self) -> (Timestamp, Arc<Mutex<Catalog>>) {
        let catalog = self.catalog();
        let now = self.operation_time();
        let mut snapshots = lock(&self.snapshots);
        if let Some(kept) = snapshots.find(now) {
            return (now, kept);
        }
        (now, snapshots.keep(now, catalog.clone()))
    }

    /// Returns the snapshot of the catalog at a time, if it was kept or nothing was written since.
    pub(crate) fn snapshot_at(&self, time: Timestamp) -> Option<Arc<Mutex<Catalog>>> {
        if let Some(kept) = lock(&self.snapshots).find(time) {
            return Some(kept);
        }
        let catalog = self.catalog();
        let unchanged = lock(&self.oplog)
            .after(time)
            .is_some_and(|mut later| later.next().is_none());
        unchanged.then(|| lock(&self.snapshots).keep(time, catalog.clone()))
    }

    /// Reads the topology.
    pub(crate) fn topology<T>(&self, read: impl FnOnce(&Topology) -> T) -> T {
        read(&lock(&self.topology))
    }

    /// Changes the topology and wakes every awaitable `hello`.
    pub(crate) fn change_topology<T>(&self, change: impl FnOnce(&mut Topology) -> T) -> T {
        let mut topology = lock(&self.topology);
        let primary = topology.primary;
        let result = change(&mut topology);
        let lost_primary = self.is_replica_set() && topology.primary != primary;
        drop(topology);
        if lost_primary {
            self.sessions.abort_all();
        }
        self.topology_changed.send_replace(());
        result
    }

    /// Receives a notification of every topology change from now on.
    pub(crate) fn topology_changes(&self) -> watch::Receiver<()> {
        self.topology_changed.subscribe()
    }

    /// Deletes the documents that TTL indexes expire; returns their number.
    pub(crate) fn run_ttl_monitor(&self) -> usize {
        let removed = self.catalog().remove_expired(bson::DateTime::now());
        if removed > 0 {
            self.tick();
        }
        removed
    }

    /// Whether clients connect to replica set members.
    pub(crate) fn is_replica_set(&self) -> bool {
        self.set_name.is_some()
    }

    /// Whether clients connect to mongos.
    pub(crate) fn is_mongos(&self) -> bool {
        self.kind.is_mongos()
    }

    /// The version and the deployment that requests are checked against.
    pub(crate) fn profile(&self) -> ServerProfile {
        ServerProfile {
            version: self.version,
            kind: self.kind,
        }
    }

    /// Whether the data is on a replica set or shard, which retryable writes, transactions and
    /// change streams require.
    pub(crate) fn is_replicated(&self) -> bool {
        self.kind != Kind::Single
    }

    /// Number of data-bearing members, for write concerns.
    pub(crate) fn data_members(&self) -> usize {
        if self.is_replicated() {
            Kind::ReplicaSet.processes()
        } else {
            1
        }
    }

    /// Allows the collections of a database to be sharded, which servers before 6.0 require.
    pub(crate) fn enable_sharding(&self, database: &str) {
        lock(&self.sharded_databases).insert(database.to_owned());
    }

    /// Whether the collections of a database may be sharded.
    pub(crate) fn is_sharding_enabled(&self, database: &str) -> bool {
        lock(&self.sharded_databases).contains(database)
    }

    /// Locks the server parameters.
    pub(crate) fn parameters(&self) -> MutexGuard<'_, Document> {
        lock(&self.parameters)
    }

    /// The maximum lifetime of a transaction: `transactionLifetimeLimitSeconds`.
    pub(crate) fn transaction_lifetime(&self) -> Duration {
        let seconds = self
            .parameters()
            .get("transactionLifetimeLimitSeconds")
            .and_then(crate::value::number::Number::from_bson)
            .map_or(60, |seconds| seconds.to_saturated_i64().clamp(1, 86_400));
        Duration::from_secs(seconds as u64)
    }

    /// Whether a boolean server parameter is true.
    pub(crate) fn parameter_is_on(&self, name: &str) -> bool {
        self.parameters().get(name).is_some_and(crate::value::truthy)
    }

    pub(crate) fn next_connection_id(&self) -> i32 {
        self.next_connection_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The cluster time of the last write.
    pub(crate) fn operation_time(&self) -> Timestamp {
        *lock(&self.clock)
    }

    /// Advances the logical clock for a write.
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

    /// Advances the logical clock to the `$clusterTime` of a request if that is later.
    pub(crate) fn gossip(&self, received: Timestamp) {
        let mut clock = lock(&self.clock);
        // A time far in the future is invalid; the clock could not advance beyond it.
        let plausible = received.time < seconds_now().saturating_add(365 * 24 * 3600);
        if plausible && (received.time, received.increment) > (clock.time, clock.increment) {
            *clock = received;
        }
    }

    /// Adds `$clusterTime` and `operationTime` to a reply. Standalones do not send them.
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
