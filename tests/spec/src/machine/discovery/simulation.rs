//! A client without sockets: the `sdam` and `cmap` machines, connected as in the driver.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use marula_driver::{
    Error, ServerAddress,
    bson::ObjectId,
    event::{SdamEvent, ServerDescription, TopologyDescription, TopologyType},
    internals::{
        cmap::{Clear, ConnectionPool, PoolLimits},
        description::HelloReply,
        sdam::{self, ApplicationError, ErrorAction, Phase},
    },
    options::ClientOptions,
};

type Pool = ConnectionPool<(), (), Error>;

/// The topology of a client and the pools of its servers.
pub(super) struct Simulation {
    pub(super) topology: Arc<TopologyDescription>,
    pools: BTreeMap<ServerAddress, Pool>,
    /// The `topologyId` of the events.
    pub(super) id: ObjectId,
    /// The events since the last outcome that listed events.
    pub(super) events: Vec<SdamEvent>,
}

impl Simulation {
    pub(super) fn new(options: &ClientOptions) -> Self {
        let initial = match (options.load_balanced, options.hosts.as_slice()) {
            (true, [host]) => TopologyDescription::load_balanced(host.clone()),
            _ => TopologyDescription::initial(
                options.hosts.iter().cloned(),
                options.direct_connection == Some(true),
                options.replica_set.clone(),
            ),
        };
        let id = ObjectId::new();
        let topology = Arc::new(initial);
        let mut simulation = Self {
            events: sdam::events::opening(id, &topology),
            topology,
            pools: BTreeMap::new(),
            id,
        };
        simulation.update_pools();
        if simulation.topology.topology_type() == TopologyType::LoadBalanced {
            for host in &options.hosts {
                simulation.apply(&ServerDescription::load_balancer(host.clone()));
            }
        }
        simulation
    }

    /// Applies the hello reply of a server check.
    pub(super) fn check_succeeded(&mut self, server: &ServerAddress, hello: HelloReply) {
        self.apply(&ServerDescription::from_hello(
            server.clone(),
            hello,
            Duration::from_millis(1),
            Instant::now(),
        ));
    }

    /// Applies the error of a server check.
    pub(super) fn check_failed(&mut self, server: &ServerAddress, error: &Error) {
        self.execute(server, sdam::handle_check_error(error), error);
    }

    /// Applies the error of an operation on a connection of `generation`; `None` is the generation
    /// of the pool.
    pub(super) fn operation_failed(
        &mut self,
        server: &ServerAddress,
        generation: Option<u64>,
        phase: Phase,
        error: &Error,
    ) {
        let pool_generation = self.generation(server).unwrap_or_default();
        let failure = ApplicationError {
            error,
            phase,
            generation: generation.unwrap_or(pool_generation),
            pool_generation,
            service_id: None,
        };
        let action = sdam::handle_application_error(&self.topology, server, &failure);
        self.execute(server, action, error);
    }

    /// The generation of a server's pool; `None` if the server is not in the topology.
    pub(super) fn generation(&self, server: &ServerAddress) -> Option<u64> {
        Some(self.pools.get(server)?.generation(None))
    }

    fn execute(&mut self, server: &ServerAddress, action: ErrorAction, error: &Error) {
        if action.mark_unknown {
            self.apply(&ServerDescription::failed(
                server.clone(),
                error,
                action.topology_version,
                Instant::now(),
            ));
        }
        if action.clear_pool
            && let Some(pool) = self.pools.get_mut(server)
        {
            let clear = Clear {
                cause: error.clone(),
                service_id: None,
                interrupt_in_use: action.interrupt_in_use,
            };
            pool.clear(clear, Instant::now());
        }
    }

    /// Applies a server description to the topology, and marks the pool of an available server
    /// ready.
    fn apply(&mut self, outcome: &ServerDescription) {
        let previous = Arc::clone(&self.topology);
        let mut next = (*previous).clone();
        sdam::apply(&mut next, outcome.clone());
        self.topology = Arc::new(next);
        let events = sdam::events::change(self.id, &previous, &self.topology, Some(outcome));
        self.events.extend(events);
        self.update_pools();
        let server = self.topology.server(outcome.address());
        if server.is_some_and(|server| server.server_type().is_data_bearing())
            && let Some(pool) = self.pools.get_mut(outcome.address())
        {
            pool.ready();
        }
    }

    /// Creates the pools of new servers and removes the pools of removed servers.
    fn update_pools(&mut self) {
        let limits = PoolLimits {
            max_pool_size: 1,
            min_pool_size: 0,
            max_connecting: 1,
            max_idle_time: None,
        };
        let topology = &self.topology;
        self.pools.retain(|address, _| topology.server(address).is_some());
        for server in topology.servers() {
            self.pools
                .entry(server.address().clone())
                .or_insert_with(|| Pool::new(limits, false));
        }
    }
}
