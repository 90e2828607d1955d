//! The events of the connection pool with random calls: every check-out and every connection ends
//! exactly once.

use std::time::{Duration, Instant};

use marula_driver::internals::cmap::{
    Action, CheckOut, Clear, ConnectionKey, ConnectionPool, Event, FailedEstablishment, PoolLimits,
    PoolState, WaiterId,
};
use marula_fuzz_tests::simulation::{Ledger, Random, for_each_seed};

type Machine = ConnectionPool<ConnectionKey, u32, &'static str>;

struct World {
    random: Random,
    limits: PoolLimits,
    machine: Machine,
    ledger: Ledger,
    now: Instant,
    pending: Vec<ConnectionKey>,
    failing: Vec<FailedEstablishment<u32>>,
    in_use: Vec<ConnectionKey>,
    /// Connections that owe a reply.
    draining: Vec<ConnectionKey>,
    waiting: Vec<(WaiterId, u32)>,
    last_request: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let limits = PoolLimits {
            max_pool_size: random.below(6) as u32,
            min_pool_size: random.below(4) as u32,
            max_connecting: 1 + random.below(3) as u32,
            max_idle_time: random.percent(50).then_some(Duration::from_millis(300)),
        };
        Self {
            machine: Machine::new(limits, true),
            random,
            limits,
            ledger: Ledger::default(),
            now: Instant::now(),
            pending: Vec::new(),
            failing: Vec::new(),
            in_use: Vec::new(),
            draining: Vec::new(),
            waiting: Vec::new(),
            last_request: 0,
        }
    }

    fn take<T>(random: &mut Random, from: &mut Vec<T>) -> Option<T> {
        (!from.is_empty()).then(|| from.remove(random.index(from.len())))
    }

    fn step(&mut self) {
        self.now += Duration::from_millis(self.random.below(50));
        let dead = self.random.number();
        let perished = move |key: &mut ConnectionKey| dead >> (key.id % 64) & 15 == 0;
        match self.random.below(29) {
            0..=5 => self.check_out(dead),
            6 | 7 => {
                if let Some((key, _)) = self.machine.try_check_out(self.now, |_| false) {
                    self.in_use.push(key);
                }
            }
            8..=11 => {
                if let Some(key) = Self::take(&mut self.random, &mut self.in_use) {
                    let outcome = if self.random.percent(80) {
                        Ok(())
                    } else {
                        Err(Some("broken"))
                    };
                    self.machine.check_in(key, key, outcome, || self.now);
                }
            }
            12..=15 => {
                if let Some(key) = Self::take(&mut self.random, &mut self.pending) {
                    let wanted = self.machine.is_pending(key);
                    assert_eq!(self.machine.established(key, key, self.now).is_none(), wanted);
                }
            }
            16 => {
                if let Some(key) = Self::take(&mut self.random, &mut self.pending) {
                    let failing = self.machine.failing_request(key);
                    if let Some(waiter) = failing.as_ref().and_then(FailedEstablishment::waiter) {
                        assert_eq!(self.waiting.remove(0).1, *waiter, "the first request must fail");
                    }
                    self.failing.extend(failing);
                }
            }
            17 => {
                if let Some(failing) = Self::take(&mut self.random, &mut self.failing) {
                    self.machine.establish_failed(failing, &"refused", self.now);
                }
            }
            18 => {
                if let Some((id, waiter)) = Self::take(&mut self.random, &mut self.waiting) {
                    assert_eq!(self.machine.cancel(id, self.now), Some(waiter));
                }
            }
            19 => self.clear(),
            20 | 21 => drop(self.machine.ready()),
            22 => self.machine.maintain(self.now, perished),
            23 | 24 => {
                if let Some(key) = Self::take(&mut self.random, &mut self.in_use) {
                    self.machine.check_in_owing(key, key, self.now);
                }
            }
            25..=27 => self.drain(),
            _ if self.random.percent(2) => drop(self.machine.close(self.now)),
            _ => {}
        }
        self.handle();
    }

    fn drain(&mut self) {
        if let Some(key) = Self::take(&mut self.random, &mut self.draining) {
            if self.random.percent(40) {
                self.machine.drain_slow(key, true, self.now);
                self.draining.push(key);
                return;
            }
            let wanted = self.machine.is_draining(key);
            let outcome = self.random.percent(70).then_some(()).ok_or(Some("silent"));
            let unwanted = self.machine.drained(key, key, outcome, self.now);
            assert_eq!(unwanted.is_none(), wanted);
        }
    }

    fn check_out(&mut self, dead: u64) {
        self.last_request += 1;
        let perished = move |key: &mut ConnectionKey| dead >> (key.id % 64) & 15 == 0;
        match self.machine.check_out(self.last_request, self.now, perished) {
            CheckOut::Connection(key, _) => {
                assert!(
                    self.waiting.is_empty(),
                    "a check-out was fulfilled before a waiting request"
                );
                self.in_use.push(key);
            }
            CheckOut::Waiting(id) => self.waiting.push((id, self.last_request)),
            CheckOut::Refused(_) => assert_ne!(self.machine.state(), PoolState::Ready),
        }
    }

    fn clear(&mut self) {
        let clear = Clear {
            cause: "down",
            service_id: None,
            interrupt_in_use: self.random.percent(30),
        };
        let generation = self.machine.generation(None);
        self.machine.clear(clear, self.now);
        let closed = self.machine.state() == PoolState::Closed;
        assert_eq!(self.machine.generation(None), generation + u64::from(!closed));
    }

    fn handle(&mut self) {
        let mut announced = None;
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Emit(event) => {
                    self.ledger.enter(&event);
                    if let Event::ConnectionCreated { id } | Event::CheckedOut { id, .. } = event {
                        announced = Some(id);
                    }
                }
                Action::Establish(key) => {
                    assert_eq!(announced, Some(key.id), "established before it was created");
                    // A connection that was cleared in the same step is not established.
                    self.pending.push(key);
                }
                Action::Fulfil { waiter, key, .. } => {
                    assert_eq!(announced, Some(key.id), "fulfilled before CheckedOut");
                    assert_eq!(
                        self.waiting.remove(0).1,
                        waiter,
                        "requests must be fulfilled in order"
                    );
                    assert_eq!(key.generation, self.machine.generation(None));
                    self.in_use.push(key);
                }
                Action::Fail { waiter, .. } => self.waiting.retain(|(_, waiting)| *waiting != waiter),
                Action::Interrupt { generation, .. } => {
                    assert_eq!(generation + 1, self.machine.generation(None));
                }
                Action::Drain { key, .. } => {
                    assert_eq!(
                        key.generation,
                        self.machine.generation(None),
                        "a stale connection is drained"
                    );
                    self.draining.push(key);
                }
                Action::Close { .. } | Action::Abandon => {}
            }
        }
        let counts = self.machine.counts();
        self.ledger.agrees_with(counts, self.failing_requests());
        assert_eq!(self.in_use.len(), self.ledger.in_use());
        assert_eq!(
            counts.total,
            counts.available + counts.pending + counts.draining + self.in_use.len() + self.failing.len()
        );
        let (most, connecting) = (
            self.limits.max_pool_size as usize,
            self.limits.max_connecting as usize,
        );
        assert!(
            (most == 0 || counts.total <= most) && counts.pending <= connecting,
            "{counts:?}"
        );
    }

    /// Number of requests whose failure has not been reported yet.
    fn failing_requests(&self) -> usize {
        self.failing
            .iter()
            .filter(|failing| failing.waiter().is_some())
            .count()
    }
}

#[test]
fn every_check_out_and_every_connection_ends_exactly_once() {
    for_each_seed(1_500, |seed| {
        let mut world = World::new(seed);
        for _ in 0..250 {
            world.step();
        }
        world.machine.close(world.now);
        for failing in std::mem::take(&mut world.failing) {
            world.machine.establish_failed(failing, &"refused", world.now);
        }
        for key in std::mem::take(&mut world.in_use) {
            world.machine.check_in(key, key, Ok(()), || world.now);
        }
        world.handle();
        assert_eq!(world.machine.counts().total, 0);
    });
}
