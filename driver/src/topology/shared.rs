//! The state of the deployment, shared by handles, monitors and pools.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use tokio::{runtime::Handle, sync::watch, task::AbortHandle};

use super::{
    cluster_clock::ClusterClock,
    monitor::Monitor,
    runtime_end,
    server::{SelectedServer, Server},
    settings::TopologySettings,
    snapshot::{Limits, Snapshot},
    srv_poller,
    watch::Watch,
};
use crate::{
    Error, ServerAddress,
    bson::{ObjectId, RawDocument},
    pool::{Pool, PoolListener},
    proto::{
        cmap::ConnectionKey,
        description::{HelloReply, ServerDescription, ServerType, TopologyDescription, TopologyType},
        event::SdamEvent,
        sdam::{self, ApplicationError, ErrorAction, Phase},
        server_selection::Criteria,
        srv::SrvPolling,
    },
    telemetry::EventQueue,
    types::lock::{Outermost, OutermostGuard},
};

/// See the module of [`Topology`](super::Topology).
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: TopologySettings,
    pub(super) runtime: Handle,
    pub(super) snapshot: ArcSwap<Snapshot>,
    /// Notifies waiting selections of a new snapshot.
    pub(super) changes: watch::Sender<()>,
    /// Held while a snapshot is replaced: changes are processed one at a time.
    update: Outermost<()>,
    closed: AtomicBool,
    pub(super) clock: Arc<ClusterClock>,
    random: AtomicU64,
    srv_poller: OnceLock<AbortHandle>,
    runtime_end: OnceLock<AbortHandle>,
    own: Weak<Self>,
    /// `topologyId` in events.
    pub(super) id: ObjectId,
    events: Option<Arc<EventQueue<SdamEvent>>>,
}

/// A change in progress: the lock, and the pools to be settled after its release.
struct Change<'a> {
    _guard: OutermostGuard<'a, ()>,
    pools: Vec<Arc<Pool>>,
}

impl Shared {
    pub(super) fn start(settings: TopologySettings) -> Arc<Self> {
        let shared = Arc::new_cyclic(|own| Self {
            runtime: Handle::current(),
            snapshot: ArcSwap::default(),
            changes: watch::Sender::new(()),
            update: Outermost::default(),
            closed: AtomicBool::new(false),
            clock: Arc::default(),
            random: AtomicU64::new(RandomState::new().hash_one(0)),
            srv_poller: OnceLock::new(),
            runtime_end: OnceLock::new(),
            own: own.clone(),
            id: ObjectId::new(),
            events: settings.listener.clone().map(|l| Arc::new(EventQueue::new(l))),
            settings,
        });
        shared.change(|change| {
            let initial = Arc::new(shared.settings.initial_description());
            shared.publish(change, &initial, || sdam::events::opening(shared.id, &initial));
            if initial.topology_type() == TopologyType::LoadBalanced {
                for address in initial.servers.keys() {
                    shared.apply(change, ServerDescription::load_balancer(address.clone()));
                }
            }
        });
        if let Some(polling) = shared.settings.srv.clone() {
            shared
                .srv_poller
                .get_or_init(|| srv_poller::start(&shared, polling));
        }
        shared.runtime_end.get_or_init(|| runtime_end::watch(&shared));
        shared
    }

    fn lock(&self) -> OutermostGuard<'_, ()> {
        self.update.lock()
    }

    /// Runs `work` under the lock. After its release the events are emitted and the pools perform
    /// their actions: both may run code of the application, which may drop the client.
    fn change(&self, work: impl FnOnce(&mut Change<'_>)) {
        let mut change = Change {
            _guard: self.lock(),
            pools: Vec::new(),
        };
        work(&mut change);
        let Change { _guard, pools } = change;
        drop(_guard);
        if let Some(events) = &self.events {
            events.flush();
        }
        for pool in pools {
            pool.settle();
        }
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

    /// splitmix64: fast, and sufficient for load balancing.
    fn next_random(&self) -> u64 {
        let mut z = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Whether the server that the criteria name has left the deployment, so that no wait can find
    /// it.
    pub(super) fn has_left(&self, criteria: Criteria<'_>) -> bool {
        let Criteria::Address(address) = criteria else {
            return false;
        };
        !self.snapshot.load().servers.contains_key(address)
    }

    /// Whether the server that the criteria name failed after this time, by a check or an operation.
    pub(super) fn has_failed_since(&self, criteria: Criteria<'_>, time: Instant) -> bool {
        let Criteria::Address(address) = criteria else {
            return false;
        };
        let snapshot = self.snapshot.load();
        let server = snapshot.description.servers.get(address);
        server.is_some_and(|server| server.last_update().is_some_and(|update| update > time))
    }

    /// Requests an immediate check of all servers.
    pub(super) fn request_checks(&self) {
        for server in self.snapshot.load().servers.values() {
            server.watch.request_check();
        }
    }

    /// Whether the server is Unknown.
    pub(super) fn is_unknown(&self, address: &ServerAddress) -> bool {
        let description = &self.snapshot.load().description;
        let server = description.servers.get(address);
        server.is_some_and(|server| server.kind == ServerType::Unknown)
    }

    pub(super) fn on_check_succeeded(&self, checked: ServerDescription) {
        self.change(|change| self.apply(change, checked));
    }

    pub(super) fn on_check_failed(&self, address: &ServerAddress, error: &Error) {
        self.change(|change| self.execute(change, address, sdam::handle_check_error(error), error, None));
    }

    pub(super) fn handle_error(&self, address: &ServerAddress, key: ConnectionKey, error: &Error) {
        // Most errors change nothing, so this is checked before the lock is taken.
        if sdam::concerns_server(error) {
            self.handle_application_error(address, key, Phase::AfterHandshakeCompletes, error);
        }
    }

    fn handle_application_error(
        &self,
        address: &ServerAddress,
        key: ConnectionKey,
        phase: Phase,
        error: &Error,
    ) {
        self.change(|change| {
            let snapshot = self.snapshot.load_full();
            let Some(server) = snapshot.servers.get(address) else {
                return;
            };
            let failure = ApplicationError {
                error,
                phase,
                generation: key.generation,
                pool_generation: server.pool.generation(key.service_id),
                service_id: key.service_id,
            };
            let action = sdam::handle_application_error(&snapshot.description, address, &failure);
            self.execute(change, address, action, error, key.service_id);
        });
    }

    /// Applies the result of a check, and publishes the new description.
    fn apply(&self, change: &mut Change<'_>, outcome: ServerDescription) {
        let previous = Arc::clone(&self.snapshot.load().description);
        let mut next = (*previous).clone();
        let cause = self.events.is_some().then(|| outcome.clone());
        let address = outcome.address.clone();
        let check_now = sdam::apply(&mut next, outcome);
        let next = Arc::new(next);
        // The pool becomes ready before the server can be selected (CMAP, "Marking a Connection
        // Pool as Ready").
        let direct = next.kind == TopologyType::Single;
        let usable = next
            .servers
            .get(&address)
            .is_some_and(|server| server.kind.is_data_bearing() || (direct && !server.kind.is_unknown()));
        if usable && let Some(server) = self.snapshot.load().servers.get(&address) {
            server.pool.ready_without_events();
            change.pools.push(Arc::clone(&server.pool));
        }
        let snapshot = self.publish(change, &next, || {
            cause
                .map(|outcome| sdam::events::change(self.id, &previous, &next, Some(&outcome)))
                .unwrap_or_default()
        });
        for address in &check_now {
            if let Some(server) = snapshot.servers.get(address) {
                server.watch.request_check();
            }
        }
    }

    fn execute(
        &self,
        change: &mut Change<'_>,
        address: &ServerAddress,
        action: ErrorAction,
        error: &Error,
        service_id: Option<ObjectId>,
    ) {
        let server = self.snapshot.load().servers.get(address).cloned();
        if action.mark_unknown {
            let version = action.topology_version;
            self.apply(
                change,
                ServerDescription::failed(address.clone(), error, version, Instant::now()),
            );
        }
        let Some(server) = server else {
            return;
        };
        if action.clear_pool {
            server
                .pool
                .clear_without_events(error, service_id, action.interrupt_in_use);
            change.pools.push(Arc::clone(&server.pool));
        }
        if action.cancel_check {
            server.watch.cancel_check();
        }
        if action.cancel_await {
            server.watch.cancel_await();
        }
        if action.check_now {
            server.watch.request_check();
        }
    }

    /// Whether the SRV records are polled: only for topology types Unknown and Sharded.
    pub(super) fn is_srv_polled(&self) -> bool {
        !self.is_closed() && SrvPolling::applies_to(self.snapshot.load().description.kind)
    }

    /// Replaces the hosts. `choose` gets the current hosts and a random number; `None` keeps the
    /// hosts.
    pub(super) fn update_hosts(
        &self,
        choose: impl FnOnce(&BTreeSet<ServerAddress>, u64) -> Option<BTreeSet<ServerAddress>>,
    ) {
        self.change(|change| {
            // The topology type may have changed during the lookup.
            if !self.is_srv_polled() {
                return;
            }
            let previous = Arc::clone(&self.snapshot.load().description);
            let current: BTreeSet<ServerAddress> = previous.servers.keys().cloned().collect();
            if let Some(hosts) = choose(&current, self.next_random())
                && hosts != current
            {
                let mut next = (*previous).clone();
                sdam::set_hosts(&mut next, &hosts);
                let next = Arc::new(next);
                self.publish(change, &next, || {
                    sdam::events::change(self.id, &previous, &next, None)
                });
            }
        });
    }

    /// Closes the handles of removed servers, opens handles of new servers, and publishes the
    /// snapshot. The events of the change come after those that end the checks of removed servers,
    /// and before those of the checks of new servers.
    fn publish(
        &self,
        change: &mut Change<'_>,
        description: &Arc<TopologyDescription>,
        events: impl FnOnce() -> Vec<SdamEvent>,
    ) -> Arc<Snapshot> {
        let before = self.snapshot.load_full();
        if self.is_closed() {
            return before;
        }
        for (address, server) in &before.servers {
            if !description.servers.contains_key(address) {
                server.close();
                change.pools.push(Arc::clone(&server.pool));
            }
        }
        self.queue(events);
        let servers: BTreeMap<ServerAddress, Arc<Server>> = description
            .servers
            .keys()
            .filter_map(|address| {
                let server = match before.servers.get(address) {
                    Some(server) => Arc::clone(server),
                    None => self.open(change, address)?,
                };
                Some((address.clone(), server))
            })
            .collect();
        let snapshot = Arc::new(Snapshot::new(Arc::clone(description), servers));
        self.snapshot.store(Arc::clone(&snapshot));
        self.changes.send_replace(());
        snapshot
    }

    fn queue(&self, events: impl FnOnce() -> Vec<SdamEvent>) {
        if let Some(queue) = &self.events {
            for event in events() {
                queue.push(event);
            }
        }
    }

    fn open(&self, change: &mut Change<'_>, address: &ServerAddress) -> Option<Arc<Server>> {
        let own = self.own.upgrade()?;
        let listener: Weak<dyn PoolListener> = self.own.clone();
        let pool = Pool::new_without_events(
            address.clone(),
            self.settings.pool.clone(),
            self.settings.connection.clone(),
            listener,
        );
        change.pools.push(Arc::clone(&pool));
        let watch = Watch::new(address, self.id, self.events.as_ref());
        let monitored = !self.settings.connection.load_balanced;
        let monitor = monitored.then(|| Monitor::start(&own, address.clone(), Arc::clone(&watch)));
        Some(Server::new(address.clone(), pool, watch, monitor))
    }

    /// Closes the deployment and its client after the end of the runtime.
    pub(super) fn end(&self) {
        if let Some(in_flight) = &self.settings.pool.in_flight {
            in_flight.close();
        }
        self.close();
    }

    /// Closes the deployment. Selected servers and checked out connections stay usable.
    pub(super) fn close(&self) {
        self.change(|change| {
            if self.closed.swap(true, Ordering::AcqRel) {
                return;
            }
            if let Some(login) = &self.settings.connection.login {
                login.close();
            }
            if let Some(poller) = self.srv_poller.get() {
                poller.abort();
            }
            if let Some(task) = self.runtime_end.get() {
                task.abort();
            }
            let last = self.snapshot.swap(Arc::default());
            for server in last.servers.values() {
                server.close();
                change.pools.push(Arc::clone(&server.pool));
            }
            self.queue(|| sdam::events::closing(self.id, &last.description));
            self.changes.send_replace(());
        });
    }
}

impl PoolListener for Shared {
    fn handshake_failed(&self, address: &ServerAddress, key: ConnectionKey, error: &Error) {
        self.handle_application_error(address, key, Phase::BeforeHandshakeCompletes, error);
    }

    fn state_changed(&self, address: &ServerAddress, key: ConnectionKey, error: &Error) {
        self.handle_error(address, key, error);
    }

    fn cluster_time_received(&self, time: &RawDocument) {
        self.clock.advance(time.as_bytes());
    }

    fn runtime_ended(&self) {
        self.end();
    }

    /// The hello reply of a pooled connection updates the description as that of a monitor does, if
    /// its `topologyVersion` shows that it is newer.
    fn handshake_succeeded(&self, address: &ServerAddress, hello: &HelloReply, time: Duration) {
        if hello.topology_version.is_none() || self.settings.connection.load_balanced {
            return;
        }
        let snapshot = self.snapshot.load();
        let Some(known) = snapshot.description.servers.get(address) else {
            return;
        };
        let average = known.round_trip_time.unwrap_or(time);
        let minimum = known.minimum_round_trip_time.unwrap_or_default();
        let news = ServerDescription::from_hello(address.clone(), hello.clone(), average, Instant::now())
            .with_minimum_round_trip_time(minimum);
        if news != *known {
            self.on_check_succeeded(news);
        }
    }
}
