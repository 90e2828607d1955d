//! The simulation: drives the state machines of a client as the driver does, against the simulated
//! replica set.

mod discovery;
mod operations;
mod pools;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use marula_driver::{
    Error, ErrorKind, NetworkPhase, PoolError, ServerAddress,
    internals::{
        cmap::{Action, CheckOut, Clear, ConnectionKey, Refusal},
        description::{HelloReply, ServerDescription, ServerType, TopologyType},
        error, labeled, network_error,
        retry::{Next, label_write_failure},
        sdam::{self, ApplicationError, ErrorAction, Phase},
        server_selection::{Criteria, choose, in_latency_window, suitable_servers},
    },
    options::{ReadPreference, ReadPreferenceMode},
};

use crate::simulation::{
    Random,
    client::{Client, InFlight, Link},
    operation::{Operation, SELECTION_TIMEOUT, State},
    servers::Cluster,
};

const HEARTBEAT: Duration = Duration::from_secs(10);
const MIN_HEARTBEAT: Duration = Duration::from_millis(500);
const FAULTS_END: Duration = Duration::from_secs(120);
const END: Duration = Duration::from_secs(260);

/// The result of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of successful operations.
    pub succeeded: usize,
    /// Number of failed operations.
    pub failed: usize,
    /// Number of changes of the topology description.
    pub changes: usize,
    /// Number of cleared pools.
    pub cleared: u64,
    /// Number of steps.
    pub steps: usize,
}

enum Task {
    Check(usize, u64),
    Checked(usize, u64, Box<Result<(HelloReply, Duration), Error>>),
    Established(usize, ConnectionKey, Result<Link, Error>),
    Replied(usize, u32, u64, Result<(), Error>),
    Begin(u64),
    Fault,
    Heal,
    Maintain,
}

struct World {
    random: Random,
    start: Instant,
    now: Duration,
    tasks: BTreeMap<(Duration, u64), Task>,
    last_task: u64,
    cluster: Cluster,
    client: Client,
    operations: BTreeMap<u64, Operation>,
    changes: usize,
}

/// Runs the simulation of a seed. All faults end before the end of the run.
///
/// # Panics
/// If an invariant is violated.
#[must_use]
pub fn simulate(seed: u64) -> Summary {
    let cluster = Cluster::new(3);
    let mut world = World {
        client: Client::new(cluster.members[0].address.clone()),
        cluster,
        random: Random::new(seed),
        start: Instant::now(),
        now: Duration::ZERO,
        tasks: BTreeMap::new(),
        last_task: 0,
        operations: BTreeMap::new(),
        changes: 0,
    };
    world.prepare();
    let mut steps = 0;
    while let Some(((at, _), task)) = world.tasks.pop_first() {
        if at > END {
            break;
        }
        world.now = at;
        world.run(task);
        world.check();
        steps += 1;
        assert!(steps < 200_000, "the simulation does not terminate");
    }
    world.end(steps)
}

impl World {
    fn prepare(&mut self) {
        let address = self.cluster.members[0].address.clone();
        self.open(&address);
        for number in 0..150 {
            let at = Duration::from_millis(self.random.below(FAULTS_END.as_millis() as u64));
            let operation = Operation::new(number, self.random.percent(60), at);
            self.operations.insert(number, operation);
            self.at(at, Task::Begin(number));
        }
        for _ in 0..40 {
            let at = Duration::from_millis(self.random.below(FAULTS_END.as_millis() as u64));
            self.at(at, Task::Fault);
        }
        self.at(FAULTS_END, Task::Heal);
        self.at(Duration::ZERO, Task::Maintain);
    }

    fn at(&mut self, when: Duration, task: Task) {
        self.last_task += 1;
        self.tasks.insert((when, self.last_task), task);
    }

    fn after(&mut self, millis: u64, task: Task) {
        self.at(self.now + Duration::from_millis(millis), task);
    }

    fn instant(&self) -> Instant {
        self.start + self.now
    }

    fn open(&mut self, address: &ServerAddress) {
        let handle = self.client.open(address);
        self.at(self.now, Task::Check(handle, 0));
    }

    fn run(&mut self, task: Task) {
        match task {
            Task::Check(handle, check) => self.check_server(handle, check),
            Task::Checked(handle, check, outcome) => self.checked(handle, check, *outcome),
            Task::Established(handle, key, outcome) => self.established(handle, key, outcome),
            Task::Replied(handle, id, operation, outcome) => self.replied(handle, id, operation, outcome),
            Task::Begin(number) => self.begin(number),
            Task::Fault => self.fault(),
            Task::Heal => self.cluster.heal(),
            Task::Maintain => {
                for handle in 0..self.client.handles.len() {
                    let now = self.instant();
                    self.client.handles[handle].pool.maintain(now, |_| false);
                    self.execute_actions(handle);
                }
                self.select_waiting();
                self.after(1_000, Task::Maintain);
            }
        }
    }

    fn fault(&mut self) {
        let index = self.random.index(self.cluster.members.len());
        match self.random.below(8) {
            0 | 1 => self.cluster.elect(index),
            2 => self.cluster.stop(index),
            3 => self.cluster.start(index),
            4 => self.cluster.members[index].reachable = false,
            5 => self.cluster.members[index].reachable = true,
            _ => self.cluster.members[index].overloaded ^= true,
        }
    }

    /// The network error for a request to a member that cannot be reached.
    fn lost(&self, index: usize, phase: NetworkPhase) -> Option<(u64, Error)> {
        let member = &self.cluster.members[index];
        if !member.up {
            return Some((1, network_error(phase, io::ErrorKind::ConnectionRefused.into())));
        }
        (!member.reachable).then(|| (5_000, network_error(phase, io::ErrorKind::TimedOut.into())))
    }

    /// Checks the invariants after a step.
    fn check(&self) {
        let topology = &self.client.topology;
        let of = |kind| move |server: &&ServerDescription| server.server_type() == kind;
        assert!(
            topology.servers().filter(of(ServerType::RsPrimary)).count() <= 1,
            "two primaries"
        );
        let known: BTreeSet<_> = topology.servers().map(ServerDescription::address).collect();
        assert!(
            known.into_iter().eq(self.client.current.keys()),
            "the handles differ from the topology description"
        );
        for own in &self.client.handles {
            assert!(!own.pool.has_actions());
            own.ledger.agrees_with(own.pool.counts(), 0);
            assert_eq!(own.ledger.in_use(), own.in_flight.len());
        }
    }

    /// Checks the invariants at the end, after a period without faults.
    fn end(&self, steps: usize) -> Summary {
        let topology = &self.client.topology;
        let primary = self.cluster.primary().map(|member| &member.address);
        assert_eq!(
            topology.topology_type(),
            TopologyType::ReplicaSetWithPrimary,
            "{topology}"
        );
        assert_eq!(
            topology.primary().map(ServerDescription::address),
            primary,
            "{topology}"
        );
        assert_eq!(topology.servers().len(), self.cluster.members.len());
        for operation in self.operations.values() {
            assert!(operation.is_done(), "not completed: {operation:?}");
            let done = self.cluster.written.get(&operation.number).copied().unwrap_or(0);
            assert!(done <= 1);
            if operation.write && operation.state == State::Succeeded {
                assert_eq!(done, 1, "an acknowledged write was lost");
            }
        }
        for own in &self.client.handles {
            assert!(own.in_flight.is_empty() && own.pool.counts().waiting == 0);
        }
        let count = |state| {
            self.operations
                .values()
                .filter(|operation| operation.state == state)
                .count()
        };
        Summary {
            succeeded: count(State::Succeeded),
            failed: count(State::Failed),
            changes: self.changes,
            cleared: self
                .client
                .handles
                .iter()
                .map(|own| own.pool.generation(None))
                .sum(),
            steps,
        }
    }
}
