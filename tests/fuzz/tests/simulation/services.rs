//! The pool of a load balancer with random calls: clearing a service does not pause or close the
//! pool, cancels no establishment and fails no request, and every waiting request is fulfilled.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use marula_driver::{
    bson::ObjectId,
    internals::cmap::{
        Action, CheckOut, Clear, ConnectionKey, ConnectionPool, Event, PoolLimits, PoolState, Refusal,
        WaiterId,
    },
};
use marula_fuzz_tests::simulation::{Random, for_each_seed};

type Machine = ConnectionPool<ConnectionKey, u32, &'static str>;

/// Number of services. The last one never has a connection.
const SERVICES: usize = 4;

fn service(index: usize) -> ObjectId {
    ObjectId::from_bytes([index as u8 + 1; 12])
}

struct World {
    random: Random,
    machine: Machine,
    now: Instant,
    /// Pending establishments, before and after the service id is known.
    pending: Vec<ConnectionKey>,
    in_use: Vec<ConnectionKey>,
    /// Connections that owe a reply.
    draining: Vec<ConnectionKey>,
    waiting: Vec<(WaiterId, u32)>,
    /// Number of PoolCleared events of each service that had connections.
    cleared: BTreeMap<ObjectId, u64>,
    last_request: u32,
    /// Number of requests to which a failed establishment is reported.
    failed: Vec<u32>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let limits = PoolLimits {
            max_pool_size: random.below(6) as u32,
            min_pool_size: random.below(3) as u32,
            max_connecting: 1 + random.below(3) as u32,
            max_idle_time: random.percent(50).then_some(Duration::from_millis(300)),
        };
        let mut machine = Machine::new(limits, true);
        assert!(machine.ready());
        Self {
            random,
            machine,
            now: Instant::now(),
            pending: Vec::new(),
            in_use: Vec::new(),
            draining: Vec::new(),
            waiting: Vec::new(),
            cleared: BTreeMap::new(),
            last_request: 0,
            failed: Vec::new(),
        }
    }

    fn take<T>(random: &mut Random, from: &mut Vec<T>) -> Option<T> {
        (!from.is_empty()).then(|| from.remove(random.index(from.len())))
    }

    fn step(&mut self) {
        self.now += Duration::from_millis(self.random.below(50));
        match self.random.below(24) {
            0..=5 => self.check_out(),
            6 => {
                if let Some((key, _)) = self.machine.try_check_out(self.now, |_| false) {
                    self.receive(key);
                }
            }
            7..=10 => {
                if let Some(key) = Self::take(&mut self.random, &mut self.in_use) {
                    let works = self.random.percent(80);
                    let outcome = works.then_some(()).ok_or(Some("broken"));
                    self.machine.check_in(key, key, outcome, || self.now);
                }
            }
            11 => {
                if !self.pending.is_empty() {
                    let index = self.random.index(self.pending.len());
                    let id = service(self.random.index(SERVICES - 1));
                    self.pending[index] = self.machine.identify(self.pending[index], id);
                }
            }
            12..=14 => self.establish(),
            15 => self.fail(),
            16 => {
                if let Some((id, waiter)) = Self::take(&mut self.random, &mut self.waiting) {
                    assert_eq!(self.machine.cancel(id, self.now), Some(waiter));
                }
            }
            17 | 18 => self.clear(),
            19 => {
                if let Some(key) = Self::take(&mut self.random, &mut self.in_use) {
                    self.machine.check_in_owing(key, key, self.now);
                }
            }
            20 | 21 => {
                if let Some(key) = Self::take(&mut self.random, &mut self.draining) {
                    let wanted = self.machine.is_draining(key);
                    let outcome = self.random.percent(80).then_some(()).ok_or(None);
                    let unwanted = self.machine.drained(key, key, outcome, self.now);
                    assert_eq!(unwanted.is_none(), wanted);
                }
            }
            22 => {
                if let Some(key) = self.draining.first() {
                    self.machine.drain_slow(*key, true, self.now);
                }
            }
            _ => self.machine.maintain(self.now, |_| false),
        }
        self.handle();
    }

    fn check_out(&mut self) {
        self.last_request += 1;
        match self.machine.check_out(self.last_request, self.now, |_| false) {
            CheckOut::Connection(key, _) => self.receive(key),
            CheckOut::Waiting(id) => self.waiting.push((id, self.last_request)),
            CheckOut::Refused(why) => panic!("check-out failed in a ready pool: {why:?}"),
        }
    }

    /// A connection that is checked out must be of the current generation of its service.
    fn receive(&mut self, key: ConnectionKey) {
        assert!(key.service_id.is_some(), "{key:?}");
        assert_eq!(key.generation, self.machine.generation(key.service_id), "{key:?}");
        self.in_use.push(key);
    }

    /// The service id is known at the end of the handshake.
    fn establish(&mut self) {
        if let Some(key) = Self::take(&mut self.random, &mut self.pending) {
            let key = self
                .machine
                .identify(key, service(self.random.index(SERVICES - 1)));
            let unwanted = self.machine.established(key, key, self.now);
            assert_eq!(unwanted, None, "an establishment was cancelled");
        }
    }

    fn fail(&mut self) {
        if let Some(key) = Self::take(&mut self.random, &mut self.pending) {
            let failing = self.machine.failing_request(key).expect("it is pending");
            if let Some(waiter) = failing.waiter() {
                assert_eq!(self.waiting.remove(0).1, *waiter, "the first request must fail");
                self.failed.push(*waiter);
            }
            self.machine.establish_failed(failing, &"refused", self.now);
        }
    }

    fn clear(&mut self) {
        let id = service(self.random.index(SERVICES));
        let clear = Clear {
            cause: "down",
            service_id: Some(id),
            interrupt_in_use: self.random.percent(30),
        };
        let (before, waiting) = (self.machine.generation(Some(id)), self.machine.counts().waiting);
        let changed = self.machine.clear(clear, self.now);
        let after = self.machine.generation(Some(id));
        // The service is forgotten with its last connection, if that one was draining.
        assert!(after == before + u64::from(changed) || (changed && after == 0));
        assert_eq!(self.machine.counts().waiting, waiting, "a request failed");
        if changed {
            *self.cleared.entry(id).or_default() += 1;
        }
    }

    fn handle(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Emit(Event::PoolCleared { service_id, .. }) => {
                    let id = service_id.expect("a service was cleared");
                    let count = self.cleared.get_mut(&id).expect("it was cleared");
                    *count -= 1;
                }
                Action::Emit(Event::PoolClosed) => panic!("the pool was closed"),
                Action::Emit(_) | Action::Close { .. } | Action::Interrupt { .. } | Action::Abandon => {}
                Action::Establish(key) => self.pending.push(key),
                Action::Drain { key, .. } => self.draining.push(key),
                Action::Fulfil { waiter, key, .. } => {
                    assert_eq!(
                        self.waiting.remove(0).1,
                        waiter,
                        "requests must be fulfilled in order"
                    );
                    self.receive(key);
                }
                Action::Fail { waiter, why } => {
                    assert!(matches!(why, Refusal::Failed(_)), "{why:?}");
                    assert_eq!(self.failed.pop(), Some(waiter));
                }
            }
        }
        assert_eq!(self.machine.state(), PoolState::Ready);
        assert!(self.pending.iter().all(|key| self.machine.is_pending(*key)));
        assert!(
            self.cleared.values().all(|count| *count == 0),
            "an event is missing"
        );
        assert!(self.failed.is_empty());
        let counts = self.machine.counts();
        assert_eq!(counts.waiting, self.waiting.len());
        assert_eq!(counts.pending, self.pending.len());
        assert_eq!(
            counts.total,
            counts.available + counts.pending + counts.draining + self.in_use.len()
        );
        let draining = self.draining.iter().filter(|key| self.machine.is_draining(**key));
        assert_eq!(counts.draining, draining.count());
    }

    /// Fulfils all waiting requests, without failures.
    fn fulfil_all(&mut self) {
        while !self.waiting.is_empty() {
            let before = self.waiting.len();
            if let Some(key) = self.draining.pop() {
                let wanted = self.machine.is_draining(key);
                let unwanted = self.machine.drained(key, key, Ok(()), self.now);
                assert_eq!(unwanted.is_none(), wanted);
            } else if self.pending.is_empty() {
                let key = self.in_use.pop().expect("a connection in use");
                self.machine.check_in(key, key, Ok(()), || self.now);
            } else {
                self.establish();
            }
            self.handle();
            assert!(self.waiting.len() <= before);
        }
    }
}

#[test]
fn clearing_services_keeps_the_pool_ready_and_fulfils_every_request() {
    for_each_seed(1_500, |seed| {
        let mut world = World::new(seed);
        for _ in 0..250 {
            world.step();
        }
        world.fulfil_all();
    });
}
