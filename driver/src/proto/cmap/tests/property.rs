//! Random histories on a virtual clock: the machine against a model that only keeps lists.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use proptest::prelude::*;

use super::super::*;

/// What can happen to a pool. Numbers choose among what is there, modulo its length.
#[derive(Clone, Debug)]
enum Event {
    TryCheckOut,
    CheckOut,
    Cancel(usize),
    CheckIn(usize, bool),
    CheckInOwing(usize),
    /// The drain is slow.
    Slow(usize),
    /// The reply has arrived, or not.
    Drained(usize, bool),
    Established(usize),
    /// Fails, and maybe clears the pool before the connection is given up.
    EstablishFailed(usize, bool),
    Clear,
    Ready,
    Close,
    Advance(u64),
    Maintain(u32),
}

fn event() -> impl Strategy<Value = Event> {
    let index = any::<usize>();
    prop_oneof![
        3 => Just(Event::TryCheckOut),
        8 => Just(Event::CheckOut),
        2 => index.prop_map(Event::Cancel),
        6 => (index, prop::bool::weighted(0.8)).prop_map(|(i, ok)| Event::CheckIn(i, ok)),
        3 => index.prop_map(Event::CheckInOwing),
        1 => index.prop_map(Event::Slow),
        3 => (index, prop::bool::weighted(0.7)).prop_map(|(i, ok)| Event::Drained(i, ok)),
        6 => index.prop_map(Event::Established),
        2 => (index, any::<bool>()).prop_map(|(i, clear)| Event::EstablishFailed(i, clear)),
        1 => Just(Event::Clear),
        4 => Just(Event::Ready),
        2 => (0..2_000u64).prop_map(Event::Advance),
        2 => any::<u32>().prop_map(Event::Maintain),
    ]
}

fn limits() -> impl Strategy<Value = PoolLimits> {
    let idle = prop::option::of((1..1_000u64).prop_map(Duration::from_millis));
    (0..6u32, 0..6u32, 1..4u32, idle).prop_map(
        |(max_pool_size, min_pool_size, max_connecting, max_idle_time)| PoolLimits {
            max_pool_size,
            min_pool_size,
            max_connecting,
            max_idle_time,
        },
    )
}

/// The machine, and what must be true of it. A connection is its key; a request is its number.
struct World {
    machine: ConnectionPool<ConnectionKey, u32, &'static str>,
    limits: PoolLimits,
    now: Instant,
    state: PoolState,
    generation: u64,
    last_id: u32,
    next_waiter: u32,
    queue: VecDeque<(WaiterId, u32)>,
    pending: Vec<ConnectionKey>,
    in_use: Vec<ConnectionKey>,
    /// Each with whether the drain is overdue.
    draining: Vec<(ConnectionKey, bool)>,
    available: Vec<(ConnectionKey, Instant)>,
    /// Given to the machine by the event being handled; an action or the available ones must have
    /// it afterwards.
    returned: Option<ConnectionKey>,
    /// The request that must hear of a failed establishment.
    failing: Option<u32>,
}

impl World {
    fn new(limits: PoolLimits) -> Self {
        Self {
            machine: ConnectionPool::new(limits, false),
            limits,
            now: Instant::now(),
            state: PoolState::Paused,
            generation: 0,
            last_id: 0,
            next_waiter: 0,
            queue: VecDeque::new(),
            pending: Vec::new(),
            in_use: Vec::new(),
            draining: Vec::new(),
            available: Vec::new(),
            returned: None,
            failing: None,
        }
    }

    fn run(&mut self, event: &Event) {
        match *event {
            Event::TryCheckOut => {
                let found = self.machine.try_check_out(self.now, |_| false);
                assert!(
                    found.is_none() || self.queue.is_empty(),
                    "overtook a waiting request"
                );
                self.expect_found(found);
            }
            Event::CheckOut => self.check_out(),
            Event::Cancel(index) => {
                if let Some(index) = index.checked_rem(self.queue.len()) {
                    let (id, waiter) = self.queue.remove(index).expect("in range");
                    assert_eq!(self.machine.cancel(id, self.now), Some(waiter));
                }
            }
            Event::CheckIn(index, reusable) => {
                if let Some(index) = index.checked_rem(self.in_use.len()) {
                    let key = self.in_use.swap_remove(index);
                    self.returned = Some(key);
                    self.machine
                        .check_in(key, key, reusable.then_some(()).ok_or(None), || self.now);
                }
            }
            Event::CheckInOwing(index) => {
                if let Some(index) = index.checked_rem(self.in_use.len()) {
                    let key = self.in_use.swap_remove(index);
                    self.returned = Some(key);
                    self.machine.check_in_owing(key, key, self.now);
                }
            }
            Event::Slow(index) => {
                if let Some(index) = index.checked_rem(self.draining.len()) {
                    self.draining[index].1 = true;
                    self.machine.drain_slow(self.draining[index].0, true, self.now);
                }
            }
            Event::Drained(index, in_time) => {
                if let Some(index) = index.checked_rem(self.draining.len()) {
                    let (key, _) = self.draining.remove(index);
                    self.returned = Some(key);
                    let outcome = in_time.then_some(()).ok_or(None);
                    assert_eq!(self.machine.drained(key, key, outcome, self.now), None);
                }
            }
            Event::Established(index) => {
                if let Some(index) = index.checked_rem(self.pending.len()) {
                    let key = self.pending.swap_remove(index);
                    self.returned = Some(key);
                    assert_eq!(self.machine.established(key, key, self.now), None);
                }
            }
            Event::EstablishFailed(index, clear) => self.fail(index, clear),
            Event::Clear => self.clear(),
            Event::Ready => {
                let paused = self.state == PoolState::Paused;
                assert_eq!(self.machine.ready(), paused);
                if paused {
                    self.state = PoolState::Ready;
                }
            }
            Event::Close => {
                assert_eq!(self.machine.close(self.now), self.state != PoolState::Closed);
                self.state = PoolState::Closed;
                self.pending.clear();
                self.give_up_draining();
            }
            Event::Advance(millis) => self.now += Duration::from_millis(millis),
            Event::Maintain(dead) => {
                let perished = |key: &mut ConnectionKey| dead >> (key.id % 32) & 1 == 1;
                self.machine.maintain(self.now, perished);
            }
        }
        self.handle_actions();
        self.check(matches!(event, Event::Maintain(_)));
    }

    fn check_out(&mut self) {
        self.next_waiter += 1;
        match self.machine.check_out(self.next_waiter, self.now, |_| false) {
            CheckOut::Connection(key, connection) => {
                assert!(self.queue.is_empty(), "overtook a waiting request");
                self.expect_found(Some((key, connection)));
            }
            CheckOut::Waiting(id) => {
                assert_eq!(self.state, PoolState::Ready);
                self.queue.push_back((id, self.next_waiter));
            }
            CheckOut::Refused(Refusal::Cleared(_)) => assert_eq!(self.state, PoolState::Paused),
            CheckOut::Refused(Refusal::Closed) => assert_eq!(self.state, PoolState::Closed),
            CheckOut::Refused(Refusal::Failed(_)) => panic!("nothing was established for it"),
        }
    }

    /// What is given out was available, is neither stale nor idle for too long, and was used last
    /// of all such.
    fn expect_found(&mut self, found: Option<(ConnectionKey, ConnectionKey)>) {
        let best = self
            .available
            .iter()
            .rposition(|(key, since)| self.is_fresh(*key, *since));
        let usable = best.filter(|_| self.state == PoolState::Ready && self.queue.is_empty());
        match (found, usable) {
            (None, None) => {}
            (Some((key, connection)), Some(index)) => {
                let (expected, _) = self.available.remove(index);
                assert_eq!((key, connection), (expected, expected));
                self.in_use.push(key);
            }
            other => panic!("found and expected differ: {other:?}"),
        }
    }

    fn is_fresh(&self, key: ConnectionKey, since: Instant) -> bool {
        let limit = self.limits.max_idle_time.unwrap_or(Duration::MAX);
        key.generation == self.generation && self.now.saturating_duration_since(since) <= limit
    }

    fn fail(&mut self, index: usize, clear: bool) {
        let Some(index) = index.checked_rem(self.pending.len()) else {
            return;
        };
        let key = self.pending.swap_remove(index);
        let failing = self.machine.failing_request(key).expect("it is pending");
        let expected = self.queue.pop_front().map(|(_, waiter)| waiter);
        assert_eq!(failing.waiter().copied(), expected);
        if clear {
            self.clear();
            self.handle_actions();
        }
        self.failing = expected;
        self.machine.establish_failed(failing, &"refused", self.now);
    }

    fn clear(&mut self) {
        let clear = Clear {
            cause: "down",
            service_id: None,
            interrupt_in_use: false,
        };
        let was_ready = self.state == PoolState::Ready;
        assert_eq!(self.machine.clear(clear, self.now), was_ready);
        if self.state != PoolState::Closed {
            self.generation += 1;
            self.state = PoolState::Paused;
            self.pending.clear();
            self.give_up_draining();
        }
    }

    /// After a clear or close: their outcomes change nothing.
    fn give_up_draining(&mut self) {
        for (key, _) in std::mem::take(&mut self.draining) {
            assert!(!self.machine.is_draining(key));
            self.machine.drain_slow(key, true, self.now);
            assert_eq!(self.machine.drained(key, key, Ok(()), self.now), Some(key));
        }
    }

    fn handle_actions(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Establish(key) => {
                    self.last_id += 1;
                    assert_eq!((key.id, key.generation), (self.last_id, self.generation));
                    assert_eq!(self.state, PoolState::Ready);
                    self.pending.push(key);
                }
                Action::Close { connection, key, .. } => {
                    assert_eq!(connection, key);
                    if self.returned != Some(key) {
                        let index = self.available.iter().position(|(k, _)| *k == key);
                        self.available
                            .remove(index.expect("closed a connection that was not available"));
                    }
                    self.returned.take_if(|returned| *returned == key);
                }
                Action::Drain { key, connection } => {
                    assert_eq!((connection, self.returned.take()), (key, Some(key)));
                    assert_eq!(key.generation, self.generation);
                    assert_ne!(self.state, PoolState::Closed);
                    self.draining.push((key, false));
                }
                Action::Fulfil {
                    waiter,
                    key,
                    connection,
                } => {
                    assert_eq!(connection, key);
                    assert_eq!(key.generation, self.generation);
                    assert_eq!(
                        self.returned.take(),
                        Some(key),
                        "a waiting request gets what came back"
                    );
                    assert_eq!(
                        self.queue.pop_front().map(|(_, waiter)| waiter),
                        Some(waiter),
                        "not first in the queue"
                    );
                    self.in_use.push(key);
                }
                Action::Fail {
                    waiter,
                    why: Refusal::Failed(error),
                } => assert_eq!((self.failing.take(), error), (Some(waiter), "refused")),
                Action::Abandon => {
                    let oldest = self.draining.iter().position(|(_, slow)| *slow);
                    let (key, _) = self.draining.remove(oldest.expect("a slow drain"));
                    assert!(!self.machine.is_draining(key));
                    assert_eq!(self.machine.drained(key, key, Ok(()), self.now), Some(key));
                }
                Action::Interrupt { .. } | Action::Emit(_) => panic!("an action that was not requested"),
                Action::Fail { waiter, why } => {
                    let expected = if self.state == PoolState::Closed {
                        Refusal::Closed
                    } else {
                        Refusal::Cleared(Some("down"))
                    };
                    assert_ne!(self.state, PoolState::Ready);
                    assert_eq!(why, expected);
                    assert_eq!(
                        self.queue.pop_front().map(|(_, waiter)| waiter),
                        Some(waiter),
                        "not first in the queue"
                    );
                }
            }
        }
        assert_eq!(self.failing, None, "the failing request got no error");
        if let Some(key) = self.returned.take() {
            self.available.push((key, self.now));
        }
    }

    fn check(&self, maintained: bool) {
        let counts = self.machine.counts();
        let total = self.in_use.len() + self.available.len() + self.pending.len() + self.draining.len();
        let expected = Counts {
            total,
            available: self.available.len(),
            pending: self.pending.len(),
            draining: self.draining.len(),
            waiting: self.queue.len(),
        };
        assert_eq!(counts, expected);
        assert_eq!(
            (self.machine.state(), self.machine.generation(None)),
            (self.state, self.generation)
        );
        let max = self.limits.max_pool_size as usize;
        let full = max > 0 && total >= max;
        let busy = self.pending.len() >= self.limits.max_connecting as usize;
        assert!(max == 0 || total <= max, "maxPoolSize exceeded");
        assert!(
            self.pending.len() <= self.limits.max_connecting as usize,
            "maxConnecting exceeded"
        );
        let serving = self
            .pending
            .iter()
            .filter(|key| key.generation == self.generation)
            .count();
        if !self.queue.is_empty() {
            assert_eq!(self.state, PoolState::Ready);
            assert!(
                self.available.is_empty(),
                "a connection is available and a request waits"
            );
            let drained_soon = self.draining.iter().filter(|(_, slow)| !slow).count();
            let replaceable = self.draining.len() > drained_soon;
            assert!(
                serving + drained_soon >= self.queue.len() || (full && !replaceable) || busy,
                "a request waits without need"
            );
        }
        for (before, (id, _)) in self.queue.iter().enumerate() {
            assert_eq!(self.machine.is_being_served(*id), before < serving);
        }
        if maintained {
            assert!(
                self.available
                    .iter()
                    .all(|(key, since)| self.is_fresh(*key, *since)),
                "a perished one was kept"
            );
            let enough = total >= self.limits.min_pool_size as usize;
            assert!(
                self.state != PoolState::Ready || enough || full || busy,
                "minPoolSize is not kept"
            );
        }
    }

    /// Lets everything under way come to its end: no request may be left.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            if self.queue.is_empty() {
                return;
            }
            self.run(&Event::Established(0));
            self.run(&Event::CheckIn(0, true));
            self.run(&Event::Drained(0, false));
        }
        panic!("requests were forgotten: {:?}", self.queue);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_history_breaks_the_pool(limits in limits(), history in prop::collection::vec(event(), 1..200)) {
        let mut world = World::new(limits);
        for event in &history {
            world.run(event);
        }
        world.settle();
    }

    #[test]
    fn a_pool_closed_at_any_time_ends_empty(
        limits in limits(),
        before in prop::collection::vec(event(), 1..100),
        after in prop::collection::vec(event(), 0..50),
    ) {
        let mut world = World::new(limits);
        before.iter().for_each(|event| world.run(event));
        world.run(&Event::Close);
        prop_assert!(world.queue.is_empty() && world.available.is_empty());
        after.iter().for_each(|event| world.run(event));
        while !world.pending.is_empty() || !world.in_use.is_empty() {
            world.run(&Event::Established(0));
            world.run(&Event::CheckIn(0, true));
        }
        prop_assert_eq!(world.machine.counts().total, 0);
    }
}
