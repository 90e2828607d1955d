//! The simulation: a client's machines joined as the driver's shells join them, against the virtual set.

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
        error, labelled, network_error,
        retry::{Next, label_write_failure},
        sdam::{self, ApplicationError, Phase, Verdict},
        server_selection::{Criteria, choose, in_latency_window, suitable_servers},
    },
    options::{ReadPreference, ReadPreferenceMode},
};

use crate::{
    Random,
    client::{Client, InFlight, Link},
    operation::{Operation, SELECTION_TIMEOUT, State},
    servers::Cluster,
};

const HEARTBEAT: Duration = Duration::from_secs(10);
const MIN_HEARTBEAT: Duration = Duration::from_millis(500);
const FAULTS_END: Duration = Duration::from_secs(120);
const END: Duration = Duration::from_secs(260);

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary {
    /// Operations that succeeded.
    pub succeeded: usize,
    /// Operations that failed.
    pub failed: usize,
    /// Changes of the description.
    pub changes: usize,
    /// Pools cleared.
    pub cleared: u64,
    /// Steps taken.
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

/// Runs one history to its end, in which all is well again.
///
/// # Panics
/// When something that must hold does not.
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
        assert!(steps < 200_000, "it does not come to rest");
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
                    self.pump(handle);
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

    /// How the network answers before a server does.
    fn lost(&self, index: usize, phase: NetworkPhase) -> Option<(u64, Error)> {
        let member = &self.cluster.members[index];
        if !member.up {
            return Some((1, network_error(phase, io::ErrorKind::ConnectionRefused.into())));
        }
        (!member.reachable).then(|| (5_000, network_error(phase, io::ErrorKind::TimedOut.into())))
    }

    fn check_server(&mut self, handle: usize, check: u64) {
        if self.client.handles[handle].check != check || !self.is_current(handle) {
            return;
        }
        self.client.handles[handle].last_check = self.now;
        let index = self.cluster.index(&self.client.handles[handle].address);
        let latency = 1 + self.random.below(40);
        let (delay, outcome) = match self.lost(index, NetworkPhase::Read) {
            Some((delay, error)) => (delay, Err(error)),
            None => (
                latency,
                Ok((self.cluster.hello(index), Duration::from_millis(latency))),
            ),
        };
        self.after(delay, Task::Checked(handle, check, Box::new(outcome)));
    }

    fn checked(&mut self, handle: usize, check: u64, outcome: Result<(HelloReply, Duration), Error>) {
        if self.client.handles[handle].check != check || !self.is_current(handle) {
            return;
        }
        let (address, now) = (self.client.handles[handle].address.clone(), self.instant());
        let times = &mut self.client.handles[handle].round_trip_time;
        match outcome {
            Ok((hello, sample)) => {
                let average = times.add(sample);
                let minimum = times.minimum();
                let description = ServerDescription::from_hello(address, hello, average, now);
                self.take(description.with_minimum_round_trip_time(minimum));
            }
            Err(error) => {
                times.reset();
                self.execute(handle, sdam::judge_check(&error), &error);
            }
        }
        self.schedule_check(handle, HEARTBEAT);
    }

    /// The next check, as if none had been planned.
    fn schedule_check(&mut self, handle: usize, after: Duration) {
        let own = &mut self.client.handles[handle];
        own.check += 1;
        let at = (own.last_check + MIN_HEARTBEAT).max(self.now + after);
        let check = own.check;
        self.at(at, Task::Check(handle, check));
    }

    fn is_current(&self, handle: usize) -> bool {
        let address = &self.client.handles[handle].address;
        self.client.current.get(address) == Some(&handle)
    }

    /// As the shell's `take`: apply, open the pool, publish.
    fn take(&mut self, outcome: ServerDescription) {
        let mut next = (*self.client.topology).clone();
        let address = outcome.address().clone();
        let check_now = sdam::apply(&mut next, outcome);
        let usable = next
            .server(&address)
            .is_some_and(|server| server.server_type().is_data_bearing());
        if usable && let Some(handle) = self.client.current.get(&address).copied() {
            self.client.handles[handle].pool.ready();
            self.pump(handle);
        }
        let before = self
            .client
            .topology
            .servers()
            .map(|server| server.address().clone());
        for gone in before
            .filter(|address| next.server(address).is_none())
            .collect::<Vec<_>>()
        {
            if let Some(handle) = self.client.current.remove(&gone) {
                let now = self.instant();
                self.client.handles[handle].pool.close(now);
                self.pump(handle);
            }
        }
        for address in next
            .servers()
            .map(|server| server.address().clone())
            .collect::<Vec<_>>()
        {
            if !self.client.current.contains_key(&address) {
                self.open(&address);
            }
        }
        self.changes += usize::from(next != *self.client.topology);
        self.client.topology = Arc::new(next);
        for address in check_now {
            let handle = self.client.current[&address];
            self.schedule_check(handle, Duration::ZERO);
        }
        self.select_waiting();
    }

    fn execute(&mut self, handle: usize, verdict: Verdict, error: &Error) {
        let address = self.client.handles[handle].address.clone();
        let now = self.instant();
        if verdict.mark_unknown {
            let version = verdict.topology_version;
            self.take(ServerDescription::failed(address, error, version, now));
        }
        if verdict.clear_pool {
            let clear = Clear {
                cause: error.clone(),
                service_id: None,
                interrupt_in_use: verdict.interrupt_in_use,
            };
            self.client.handles[handle].pool.clear(clear, now);
            self.pump(handle);
        }
        if verdict.check_now && self.is_current(handle) {
            self.schedule_check(handle, Duration::ZERO);
        }
    }

    fn judge(&mut self, handle: usize, key: ConnectionKey, phase: Phase, error: &Error) {
        if !self.is_current(handle) {
            return;
        }
        let own = &self.client.handles[handle];
        let failure = ApplicationError {
            error,
            phase,
            generation: key.generation,
            pool_generation: own.pool.generation(key.service_id),
            service_id: key.service_id,
        };
        let verdict = sdam::judge(&self.client.topology, &own.address, &failure);
        self.execute(handle, verdict, error);
    }

    /// Does what a pool asks for.
    fn pump(&mut self, handle: usize) {
        while let Some(action) = self.client.handles[handle].pool.poll_action() {
            match action {
                Action::Emit(event) => self.client.handles[handle].ledger.enter(&event),
                Action::Establish(key) => self.establish(handle, key),
                Action::Close { .. } => {}
                Action::Fulfil {
                    waiter,
                    key,
                    connection,
                } => self.send(handle, waiter, key, connection),
                Action::Fail { waiter, why } => {
                    let error = self.refused(handle, why);
                    self.failed(waiter, error, handle);
                }
                Action::Interrupt { generation, .. } => self.interrupt(handle, generation),
            }
        }
    }

    fn refused(&self, handle: usize, why: Refusal<Error>) -> Error {
        let address = self.client.handles[handle].address.clone();
        error(ErrorKind::Pool(match why {
            Refusal::Cleared(cause) => PoolError::Cleared {
                address,
                cause: cause.map(Box::new),
            },
            Refusal::Closed => PoolError::Closed { address },
            Refusal::Failed(error) => return error,
        }))
    }

    fn interrupt(&mut self, handle: usize, generation: u64) {
        let own = &self.client.handles[handle];
        let hit = own
            .in_flight
            .iter()
            .filter(|(_, flight)| flight.key.generation <= generation);
        for (id, operation) in hit
            .map(|(id, flight)| (*id, flight.operation))
            .collect::<Vec<_>>()
        {
            let error = network_error(NetworkPhase::Read, io::ErrorKind::ConnectionAborted.into());
            self.after(0, Task::Replied(handle, id, operation, Err(error)));
        }
    }

    fn establish(&mut self, handle: usize, key: ConnectionKey) {
        let index = self.cluster.index(&self.client.handles[handle].address);
        let overload = |error| labelled(error, ["SystemOverloadedError", "RetryableError"]);
        let latency = 1 + self.random.below(60);
        let member = &self.cluster.members[index];
        let (process, overloaded) = (member.process, member.overloaded);
        let (delay, outcome) = match self.lost(index, NetworkPhase::Connect) {
            Some((delay, error)) => (delay, Err(overload(error))),
            None if overloaded && self.random.percent(60) => {
                let reset = network_error(NetworkPhase::Handshake, io::ErrorKind::ConnectionReset.into());
                (latency, Err(overload(reset)))
            }
            // The login fails.
            None if self.random.percent(2) => {
                let reset = network_error(NetworkPhase::Read, io::ErrorKind::ConnectionReset.into());
                (latency, Err(reset))
            }
            None => (latency, Ok(Link { process })),
        };
        self.after(delay, Task::Established(handle, key, outcome));
    }

    fn established(&mut self, handle: usize, key: ConnectionKey, outcome: Result<Link, Error>) {
        let now = self.instant();
        match outcome {
            Ok(link) => drop(self.client.handles[handle].pool.established(key, link, now)),
            Err(error) => {
                let Some(failing) = self.client.handles[handle].pool.blame(key) else {
                    return;
                };
                self.judge(handle, failing.key(), Phase::BeforeHandshakeCompletes, &error);
                let own = &mut self.client.handles[handle];
                own.pool.establish_failed(failing, &error, now);
            }
        }
        self.pump(handle);
    }

    fn begin(&mut self, number: u64) {
        let now = self.now;
        if let Some(operation) = self.operations.get_mut(&number) {
            (operation.state, operation.selecting_since) = (State::Selecting, now);
        }
        self.select(number);
    }

    fn select_waiting(&mut self) {
        let waiting = self
            .operations
            .values()
            .filter(|operation| operation.state == State::Selecting);
        let begun = waiting.filter(|operation| operation.selecting_since <= self.now);
        for number in begun.map(|operation| operation.number).collect::<Vec<_>>() {
            self.select(number);
        }
    }

    fn select(&mut self, number: u64) {
        let topology = Arc::clone(&self.client.topology);
        let random = self.random.number();
        let Some(operation) = self.operations.get_mut(&number) else {
            return;
        };
        // An answer to another operation may have served this one meanwhile.
        if operation.state != State::Selecting {
            return;
        }
        let preference = ReadPreference::new(ReadPreferenceMode::SecondaryPreferred);
        let criteria = match operation.write {
            true => Criteria::Writable,
            false => Criteria::Read(&preference),
        };
        let mut suitable = suitable_servers(&topology, criteria, &operation.avoid, HEARTBEAT);
        in_latency_window(&mut suitable, Duration::from_millis(15));
        let Some(chosen) = choose(suitable.len(), random, |_| 0) else {
            if self.now >= operation.selecting_since + SELECTION_TIMEOUT {
                operation.state = State::Failed;
                return;
            }
            for handle in self.client.current.values().copied().collect::<Vec<_>>() {
                if self.client.handles[handle].last_check + MIN_HEARTBEAT <= self.now {
                    self.request_check(handle);
                }
            }
            return;
        };
        operation.state = State::Busy;
        let address = suitable[chosen].address().clone();
        let handle = self.client.current[&address];
        let now = self.instant();
        let outcome = self.client.handles[handle].pool.check_out(number, now, |_| false);
        match outcome {
            CheckOut::Connection(key, link) => self.send(handle, number, key, link),
            CheckOut::Waiting(_) => {}
            CheckOut::Refused(why) => {
                let error = self.refused(handle, why);
                self.failed(number, error, handle);
            }
        }
        self.pump(handle);
    }

    /// Wakes a monitor that sleeps; one that waits for a reply goes on waiting.
    fn request_check(&mut self, handle: usize) {
        let checking = self.tasks.values().any(|task| {
            matches!(task, Task::Checked(h, check, _) if *h == handle && *check == self.client.handles[handle].check)
        });
        if !checking {
            self.schedule_check(handle, Duration::ZERO);
        }
    }

    fn send(&mut self, handle: usize, number: u64, key: ConnectionKey, link: Link) {
        let own = &mut self.client.handles[handle];
        assert_eq!(
            key.generation,
            own.pool.generation(None),
            "a stale connection was given out"
        );
        let index = self.cluster.index(&own.address);
        let flight = InFlight {
            operation: number,
            key,
            link,
        };
        assert!(own.in_flight.insert(key.id, flight).is_none(), "given out twice");
        let write = self.operations[&number].write.then_some(number);
        let latency = 1 + self.random.below(30);
        let (delay, outcome) = match self.lost(index, NetworkPhase::Read) {
            Some(lost) => (lost.0, Err(lost.1)),
            None if self.cluster.members[index].process != link.process => {
                let reset = network_error(NetworkPhase::Write, io::ErrorKind::ConnectionReset.into());
                (1, Err(reset))
            }
            None => (latency, self.cluster.run(index, write, &mut self.random)),
        };
        self.after(delay, Task::Replied(handle, key.id, number, outcome));
    }

    fn replied(&mut self, handle: usize, id: u32, number: u64, outcome: Result<(), Error>) {
        let own = &mut self.client.handles[handle];
        // Interrupted before, or another operation's by now.
        if own
            .in_flight
            .get(&id)
            .is_none_or(|flight| flight.operation != number)
        {
            return;
        }
        let Some(InFlight { key, link, .. }) = own.in_flight.remove(&id) else {
            return;
        };
        if let Err(error) = &outcome {
            self.judge(handle, key, Phase::AfterHandshakeCompletes, error);
        }
        let condition = match &outcome {
            Err(error) if error.is_network() => Err(Some(error.clone())),
            _ => Ok(()),
        };
        let now = self.instant();
        self.client.handles[handle]
            .pool
            .check_in(key, link, condition, now);
        match outcome {
            Ok(()) => self.operations.get_mut(&number).expect("it began").state = State::Succeeded,
            Err(error) => self.failed(number, error, handle),
        }
        self.pump(handle);
    }

    fn failed(&mut self, number: u64, error: Error, handle: usize) {
        let jitter = self.random.fraction();
        let avoided = self.client.handles[handle].address.clone();
        let operation = self.operations.get_mut(&number).expect("it began");
        assert_eq!(operation.state, State::Busy, "answered twice");
        let code = error.code();
        let error = match operation.write {
            // A server labels what it refused for being no primary.
            true if matches!(code, Some(10107 | 189)) => labelled(error, ["RetryableWriteError"]),
            true => label_write_failure(error),
            false => error,
        };
        match operation.retries.next(error, jitter) {
            Next::Again { pause } => {
                if pause.is_some() {
                    operation.avoid.push(avoided);
                }
                let at = self.now + pause.unwrap_or_default();
                self.at(at, Task::Begin(number));
            }
            Next::Report(_) => operation.state = State::Failed,
        }
    }

    /// What holds after every step.
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
            "handles and description differ"
        );
        for own in &self.client.handles {
            assert!(!own.pool.has_actions());
            own.ledger.agrees_with(own.pool.counts(), 0);
            assert_eq!(own.ledger.in_use(), own.in_flight.len());
        }
    }

    /// What holds once all was well for long.
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
            assert!(operation.is_done(), "forgotten: {operation:?}");
            let done = self.cluster.written.get(&operation.number).copied().unwrap_or(0);
            assert!(done <= 1);
            if operation.write && operation.state == State::Succeeded {
                assert_eq!(done, 1, "acknowledged and lost");
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
