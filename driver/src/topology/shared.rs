//! The deployment's state, shared by handles, monitors and pools.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use arc_swap::ArcSwap;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
};

use super::{
    monitor::Monitor,
    server::{SelectedServer, Server},
    settings::TopologySettings,
    snapshot::{Limits, Snapshot},
};
use crate::{
    Error, ServerAddress,
    pool::{Pool, PoolListener},
    proto::{
        cmap::ConnectionKey,
        description::{ServerDescription, TopologyDescription},
        sdam::{self, Verdict},
        server_selection::Criteria,
    },
};

/// See the module of [`Topology`](super::Topology).
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: TopologySettings,
    pub(super) runtime: Handle,
    pub(super) snapshot: ArcSwap<Snapshot>,
    /// Tells waiting selections that there is a new snapshot.
    pub(super) changes: watch::Sender<()>,
    /// Held while a snapshot is replaced: one outcome is processed at a time.
    update: Mutex<()>,
    closed: AtomicBool,
    random: AtomicU64,
    own: Weak<Self>,
}

impl Shared {
    pub(super) fn start(settings: TopologySettings) -> Arc<Self> {
        let shared = Arc::new_cyclic(|own| Self {
            runtime: Handle::current(),
            snapshot: ArcSwap::default(),
            changes: watch::Sender::new(()),
            update: Mutex::default(),
            closed: AtomicBool::new(false),
            random: AtomicU64::new(RandomState::new().hash_one(0)),
            own: own.clone(),
            settings,
        });
        let guard = shared.lock();
        shared.publish(&guard, shared.settings.initial_description());
        drop(guard);
        shared
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.update.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn try_select(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
    ) -> Option<SelectedServer> {
        let snapshot = self.snapshot.load();
        if snapshot.description.compatibility_error.is_some() {
            return None;
        }
        if let Some(server) = snapshot.only_choice(criteria) {
            return Some(server);
        }
        if self.settings.validate(&snapshot.description, criteria).is_err() {
            return None;
        }
        let limits = Limits {
            heartbeat_frequency: self.settings.heartbeat_frequency,
            local_threshold: self.settings.local_threshold,
        };
        snapshot.search(criteria, avoid, limits, self.next_random())
    }

    /// splitmix64: cheap, and good enough to spread load.
    fn next_random(&self) -> u64 {
        let mut z = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Whether the one server that the criteria allow is no part of the deployment any more, so that waiting is in vain.
    pub(super) fn has_left(&self, criteria: Criteria<'_>) -> bool {
        let Criteria::Address(address) = criteria else {
            return false;
        };
        !self.snapshot.load().servers.contains_key(address)
    }

    /// Wakes all monitors.
    pub(super) fn request_checks(&self) {
        for server in self.snapshot.load().servers.values() {
            server.check_request.notify_one();
        }
    }

    pub(super) fn on_check_succeeded(&self, checked: ServerDescription) {
        let guard = self.lock();
        let address = checked.address.clone();
        let (description, check_now) = self.apply(checked);
        // A server that can serve operations may have connections. Its pool opens before anybody can select it.
        let usable = description.servers.get(&address).is_some_and(|server| {
            server.kind.is_data_bearing() || (self.settings.direct && !server.kind.is_unknown())
        });
        if usable && let Some(server) = self.snapshot.load().servers.get(&address) {
            server.pool.ready();
        }
        self.publish_and_check(&guard, description, &check_now);
    }

    pub(super) fn on_check_failed(&self, address: &ServerAddress, error: &Error) {
        let verdict = Verdict {
            mark_unknown: true,
            clear_pool: true,
            ..Verdict::default()
        };
        let guard = self.lock();
        self.execute(&guard, address, verdict, error);
    }

    pub(super) fn handle_error(&self, address: &ServerAddress, generation: u64, error: &Error) {
        // Most errors say nothing about the server, so look before locking.
        if error.code().is_none() || error.is_state_change() {
            self.judge(address, generation, error, sdam::judge);
        }
    }

    fn judge(
        &self,
        address: &ServerAddress,
        generation: u64,
        error: &Error,
        judge: impl FnOnce(&Error, &ServerDescription) -> Verdict,
    ) {
        let guard = self.lock();
        let snapshot = self.snapshot.load_full();
        let (Some(server), Some(description)) = (
            snapshot.servers.get(address),
            snapshot.description.servers.get(address),
        ) else {
            return;
        };
        // An error of a connection that was given up already is no news.
        if generation < server.pool.generation(None) {
            return;
        }
        let verdict = judge(error, description);
        self.execute(&guard, address, verdict, error);
    }

    fn execute(&self, guard: &MutexGuard<'_, ()>, address: &ServerAddress, verdict: Verdict, error: &Error) {
        let server = self.snapshot.load().servers.get(address).cloned();
        if verdict.mark_unknown {
            let description =
                ServerDescription::failed(address.clone(), error, verdict.topology_version, Instant::now());
            let (description, check_now) = self.apply(description);
            self.publish_and_check(guard, description, &check_now);
        }
        let Some(server) = server else {
            return;
        };
        if verdict.clear_pool {
            server.pool.clear(error, None, false);
        }
        if verdict.check_now {
            server.check_request.notify_one();
        }
    }

    /// Runs the machine: the next description, and the servers to check at once.
    fn apply(&self, outcome: ServerDescription) -> (TopologyDescription, Vec<ServerAddress>) {
        let mut description = self.snapshot.load().description.clone();
        let check_now = sdam::apply(&mut description, outcome);
        (description, check_now)
    }

    fn publish_and_check(
        &self,
        guard: &MutexGuard<'_, ()>,
        description: TopologyDescription,
        check_now: &[ServerAddress],
    ) {
        let snapshot = self.publish(guard, description);
        for address in check_now {
            if let Some(server) = snapshot.servers.get(address) {
                server.check_request.notify_one();
            }
        }
    }

    /// Gives every server of the description a handle, closes the handles of the others, and publishes both.
    fn publish(&self, _guard: &MutexGuard<'_, ()>, description: TopologyDescription) -> Arc<Snapshot> {
        let before = self.snapshot.load_full();
        if self.is_closed() {
            return before;
        }
        let servers: BTreeMap<ServerAddress, Arc<Server>> = description
            .servers
            .keys()
            .filter_map(|address| {
                let server = match before.servers.get(address) {
                    Some(server) => Arc::clone(server),
                    None => self.open(address)?,
                };
                Some((address.clone(), server))
            })
            .collect();
        for (address, server) in &before.servers {
            if !servers.contains_key(address) {
                server.close();
            }
        }
        let snapshot = Arc::new(Snapshot::new(description, servers));
        self.snapshot.store(Arc::clone(&snapshot));
        self.changes.send_replace(());
        snapshot
    }

    fn open(&self, address: &ServerAddress) -> Option<Arc<Server>> {
        let own = self.own.upgrade()?;
        let check_request = Arc::new(Notify::new());
        let listener: Weak<dyn PoolListener> = self.own.clone();
        let pool = Pool::new(
            address.clone(),
            self.settings.pool.clone(),
            self.settings.connection.clone(),
            listener,
        );
        let monitor = Monitor::start(&own, address.clone(), Arc::clone(&check_request));
        Some(Server::new(address.clone(), pool, check_request, monitor))
    }

    /// Ends everything. What is selected or checked out already can be used to its end.
    pub(super) fn close(&self) {
        let _guard = self.lock();
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let last = self.snapshot.swap(Arc::default());
        for server in last.servers.values() {
            server.close();
        }
        self.changes.send_replace(());
    }
}

impl PoolListener for Shared {
    fn handshake_failed(&self, address: &ServerAddress, key: ConnectionKey, error: &Error) {
        self.judge(address, key.generation, error, |error, _| {
            sdam::judge_handshake(error)
        });
    }
}
