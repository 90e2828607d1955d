//! Tests of the pool machine: connections are their ids, requests are letters.

mod draining;
mod events;
mod property;

use std::time::{Duration, Instant};

use super::*;

type Machine = ConnectionPool<u32, char, &'static str>;

const NO_LIMITS: PoolLimits = PoolLimits {
    max_pool_size: 0,
    min_pool_size: 0,
    max_connecting: 2,
    max_idle_time: None,
};

const CLEAR: Clear<&str> = Clear {
    cause: "down",
    service_id: None,
    interrupt_in_use: false,
};

fn key(id: u32, generation: u64) -> ConnectionKey {
    ConnectionKey {
        id,
        generation,
        service_id: None,
    }
}

fn ready(limits: PoolLimits) -> Machine {
    let mut pool = Machine::new(limits, false);
    assert!(pool.ready());
    pool
}

fn actions(pool: &mut Machine) -> Vec<Action<u32, char, &'static str>> {
    std::iter::from_fn(|| pool.poll_action()).collect()
}

fn wait(pool: &mut Machine, waiter: char, now: Instant) -> WaiterId {
    match pool.check_out(waiter, now, |_| false) {
        CheckOut::Waiting(id) => id,
        other => panic!("{waiter} does not wait: {other:?}"),
    }
}

fn fulfil(waiter: char, id: u32) -> Action<u32, char, &'static str> {
    Action::Fulfil {
        waiter,
        key: key(id, 0),
        connection: id,
    }
}

fn close(id: u32, generation: u64, reason: ConnectionClosedReason) -> Action<u32, char, &'static str> {
    Action::Close {
        connection: id,
        key: key(id, generation),
        reason,
    }
}

/// A ready pool with connections 1 to `count` in use.
fn with_in_use(limits: PoolLimits, count: u32, now: Instant) -> Machine {
    let mut pool = ready(limits);
    for id in 1..=count {
        wait(&mut pool, 'x', now);
        assert_eq!(actions(&mut pool), [Action::Establish(key(id, 0))]);
        assert_eq!(pool.established(key(id, 0), id, now), None);
        assert_eq!(actions(&mut pool), [fulfil('x', id)]);
    }
    pool
}

#[test]
fn a_new_pool_is_paused_and_establishes_nothing() {
    let now = Instant::now();
    let mut pool = Machine::new(
        PoolLimits {
            min_pool_size: 3,
            ..NO_LIMITS
        },
        false,
    );
    assert_eq!(pool.state(), PoolState::Paused);
    assert_eq!(
        pool.check_out('a', now, |_| false),
        CheckOut::Refused(Refusal::Cleared(None))
    );
    pool.maintain(now, |_| false);
    assert!(!pool.has_actions());
    assert!(pool.ready());
    assert!(!pool.ready(), "ready already");
}

#[test]
fn the_connection_used_last_is_used_next() {
    let now = Instant::now();
    let mut pool = with_in_use(NO_LIMITS, 3, now);
    for id in [2, 1, 3] {
        pool.check_in(key(id, 0), id, Ok(()), || now);
    }
    for id in [3, 1, 2] {
        assert_eq!(pool.try_check_out(now, |_| false), Some((key(id, 0), id)));
    }
    assert_eq!(pool.try_check_out(now, |_| false), None);
}

#[test]
fn max_connecting_limits_establishments_and_requests_are_served_in_order() {
    let now = Instant::now();
    let mut pool = ready(NO_LIMITS);
    for waiter in ['a', 'b', 'c', 'd'] {
        wait(&mut pool, waiter, now);
    }
    assert_eq!(
        actions(&mut pool),
        [Action::Establish(key(1, 0)), Action::Establish(key(2, 0))]
    );
    // The second is done first, and still the first request gets it.
    assert_eq!(pool.established(key(2, 0), 2, now), None);
    assert_eq!(actions(&mut pool), [fulfil('a', 2), Action::Establish(key(3, 0))]);
    // A connection that is checked in serves a request as a new one does. Then two connections are
    // being established for two requests.
    pool.check_in(key(2, 0), 2, Ok(()), || now);
    assert_eq!(actions(&mut pool), [fulfil('b', 2)]);
    assert_eq!(pool.established(key(1, 0), 1, now), None);
    assert_eq!(actions(&mut pool), [fulfil('c', 1)]);
}

#[test]
fn a_full_pool_makes_requests_wait_for_a_place() {
    let now = Instant::now();
    let mut pool = with_in_use(
        PoolLimits {
            max_pool_size: 2,
            ..NO_LIMITS
        },
        2,
        now,
    );
    wait(&mut pool, 'a', now);
    assert!(!pool.has_actions());
    // A broken connection makes place for a new one.
    pool.check_in(key(1, 0), 1, Err(None), || now);
    assert_eq!(
        actions(&mut pool),
        [
            close(1, 0, ConnectionClosedReason::Error),
            Action::Establish(key(3, 0))
        ]
    );
    assert_eq!(pool.counts().total, 2);
}

#[test]
fn waiting_requests_are_served_in_order() {
    let now = Instant::now();
    let mut pool = with_in_use(
        PoolLimits {
            max_pool_size: 1,
            ..NO_LIMITS
        },
        1,
        now,
    );
    wait(&mut pool, 'a', now);
    assert_eq!(pool.try_check_out(now, |_| false), None);
    pool.check_in(key(1, 0), 1, Ok(()), || now);
    assert_eq!(
        pool.try_check_out(now, |_| false),
        None,
        "it is on its way to the one who waited"
    );
    assert_eq!(actions(&mut pool), [fulfil('a', 1)]);
}

#[test]
fn a_cancelled_request_leaves_its_connection_to_others() {
    let now = Instant::now();
    let mut pool = ready(NO_LIMITS);
    let a = wait(&mut pool, 'a', now);
    actions(&mut pool);
    assert_eq!(pool.cancel(a, now), Some('a'));
    assert_eq!(pool.cancel(a, now), None);
    assert_eq!(pool.established(key(1, 0), 1, now), None);
    assert!(!pool.has_actions());
    assert_eq!(pool.try_check_out(now, |_| false), Some((key(1, 0), 1)));
}

#[test]
fn the_first_waiting_request_gets_the_error_of_a_failed_establishment() {
    let now = Instant::now();
    let mut pool = ready(PoolLimits {
        max_connecting: 1,
        ..NO_LIMITS
    });
    wait(&mut pool, 'a', now);
    wait(&mut pool, 'b', now);
    actions(&mut pool);
    let failing = pool.failing_request(key(1, 0)).unwrap();
    assert_eq!(failing.waiter(), Some(&'a'));
    assert!(
        !pool.has_actions() && pool.counts().total == 1,
        "the failed connection counts until it is reported as such"
    );
    wait(&mut pool, 'c', now);
    assert!(
        !pool.has_actions(),
        "it counts towards maxConnecting, as in the events"
    );
    pool.establish_failed(failing, &"refused", now);
    let fail = Action::Fail {
        waiter: 'a',
        why: Refusal::Failed("refused"),
    };
    assert_eq!(actions(&mut pool), [fail, Action::Establish(key(2, 0))]);
    assert_eq!(
        pool.counts(),
        Counts {
            total: 1,
            available: 0,
            pending: 1,
            draining: 0,
            waiting: 2
        }
    );
}

#[test]
fn a_failure_of_an_older_generation_is_nobodys_fault() {
    let now = Instant::now();
    let mut pool = ready(NO_LIMITS);
    wait(&mut pool, 'a', now);
    actions(&mut pool);
    pool.clear(CLEAR, now);
    pool.ready();
    wait(&mut pool, 'b', now);
    assert!(pool.failing_request(key(1, 0)).is_none());
    assert_eq!(pool.established(key(2, 1), 2, now), None);
    assert!(
        actions(&mut pool)
            .iter()
            .any(|a| matches!(a, Action::Fulfil { waiter: 'b', .. }))
    );
}

#[test]
fn clearing_refuses_those_who_wait_and_makes_every_connection_stale() {
    let now = Instant::now();
    let mut pool = with_in_use(
        PoolLimits {
            max_pool_size: 3,
            ..NO_LIMITS
        },
        2,
        now,
    );
    pool.check_in(key(1, 0), 1, Ok(()), || now);
    assert_eq!(pool.try_check_out(now, |_| false), Some((key(1, 0), 1)));
    pool.check_in(key(1, 0), 1, Ok(()), || now);
    pool.try_check_out(now, |_| false);
    wait(&mut pool, 'a', now);
    wait(&mut pool, 'b', now);
    assert_eq!(actions(&mut pool), [Action::Establish(key(3, 0))]);
    assert!(pool.clear(CLEAR, now));
    assert!(!pool.clear(CLEAR, now), "paused already");
    let fail = |waiter| Action::Fail {
        waiter,
        why: Refusal::Cleared(Some("down")),
    };
    assert_eq!(actions(&mut pool), [fail('a'), fail('b')]);
    pool.check_in(key(1, 0), 1, Ok(()), || now);
    assert_eq!(pool.established(key(3, 0), 3, now), Some(3), "given up");
    assert_eq!(actions(&mut pool), [close(1, 0, ConnectionClosedReason::Stale)]);
    assert_eq!(
        pool.counts(),
        Counts {
            total: 1,
            available: 0,
            pending: 0,
            draining: 0,
            waiting: 0
        }
    );
}

#[test]
fn stale_connections_are_closed_by_the_next_request_or_by_maintenance() {
    let now = Instant::now();
    for maintained in [false, true] {
        let mut pool = with_in_use(NO_LIMITS, 2, now);
        pool.check_in(key(1, 0), 1, Ok(()), || now);
        pool.check_in(key(2, 0), 2, Ok(()), || now);
        pool.clear(CLEAR, now);
        pool.ready();
        let mut closed = if maintained {
            pool.maintain(now, |_| false);
            actions(&mut pool)
        } else {
            assert_eq!(pool.try_check_out(now, |_| false), None);
            assert!(!pool.has_actions(), "trying changes nothing");
            wait(&mut pool, 'a', now);
            let mut closed = actions(&mut pool);
            assert_eq!(closed.pop(), Some(Action::Establish(key(3, 1))));
            closed
        };
        closed.sort_by_key(|action| format!("{action:?}"));
        assert_eq!(
            closed,
            [
                close(1, 0, ConnectionClosedReason::Stale),
                close(2, 0, ConnectionClosedReason::Stale)
            ]
        );
        assert_eq!(pool.counts().total, usize::from(!maintained));
    }
}

#[test]
fn establishments_of_an_older_generation_are_given_up() {
    let now = Instant::now();
    let mut pool = ready(PoolLimits {
        max_connecting: 1,
        ..NO_LIMITS
    });
    wait(&mut pool, 'a', now);
    assert!(pool.is_pending(key(1, 0)));
    pool.clear(CLEAR, now);
    assert!(!pool.is_pending(key(1, 0)) && pool.counts().total == 0);
    pool.ready();
    actions(&mut pool);
    let b = wait(&mut pool, 'b', now);
    assert_eq!(actions(&mut pool), [Action::Establish(key(2, 1))]);
    let c = wait(&mut pool, 'c', now);
    assert!(!pool.has_actions());
    assert!(pool.is_being_served(b) && !pool.is_being_served(c));
}

#[test]
fn idle_connections_are_closed_after_max_idle_time() {
    let start = Instant::now();
    let limit = Duration::from_secs(10);
    let limits = PoolLimits {
        max_idle_time: Some(limit),
        ..NO_LIMITS
    };
    for maintained in [false, true] {
        let mut pool = with_in_use(limits, 2, start);
        pool.check_in(key(1, 0), 1, Ok(()), || start);
        pool.check_in(key(2, 0), 2, Ok(()), || start + Duration::from_secs(1));
        // At the limit it is still good.
        pool.maintain(start + limit, |_| false);
        assert!(!pool.has_actions());
        let later = start + limit + Duration::from_millis(500);
        if maintained {
            pool.maintain(later, |_| false);
            assert_eq!(actions(&mut pool), [close(1, 0, ConnectionClosedReason::Idle)]);
        }
        assert_eq!(pool.try_check_out(later, |_| false), Some((key(2, 0), 2)));
        assert_eq!(pool.try_check_out(later, |_| false), None);
        if !maintained {
            wait(&mut pool, 'a', later);
            assert_eq!(
                actions(&mut pool),
                [
                    close(1, 0, ConnectionClosedReason::Idle),
                    Action::Establish(key(3, 0))
                ]
            );
        }
    }
}

#[test]
fn maintenance_closes_connections_that_the_server_closed() {
    let now = Instant::now();
    let mut pool = with_in_use(NO_LIMITS, 3, now);
    for id in 1..=3 {
        pool.check_in(key(id, 0), id, Ok(()), || now);
    }
    pool.maintain(now, |id| *id == 2);
    assert_eq!(actions(&mut pool), [close(2, 0, ConnectionClosedReason::Error)]);
    assert_eq!(pool.counts().available, 2);
}

#[test]
fn maintenance_fills_up_to_min_pool_size_within_the_limits() {
    let now = Instant::now();
    let mut pool = ready(PoolLimits {
        min_pool_size: 5,
        max_pool_size: 3,
        ..NO_LIMITS
    });
    assert!(!pool.has_actions(), "being ready alone establishes nothing");
    pool.maintain(now, |_| false);
    assert_eq!(
        actions(&mut pool),
        [Action::Establish(key(1, 0)), Action::Establish(key(2, 0))]
    );
    assert_eq!(pool.established(key(1, 0), 1, now), None);
    assert_eq!(actions(&mut pool), [Action::Establish(key(3, 0))]);
    assert_eq!(pool.established(key(2, 0), 2, now), None);
    // A failure is not followed by another try at once.
    let failing = pool.failing_request(key(3, 0)).unwrap();
    assert_eq!(failing.waiter(), None);
    pool.establish_failed(failing, &"refused", now);
    assert!(!pool.has_actions());
    pool.maintain(now, |_| false);
    assert_eq!(actions(&mut pool), [Action::Establish(key(4, 0))]);
}

#[test]
fn a_closed_pool_closes_whatever_comes_back() {
    let now = Instant::now();
    let mut pool = with_in_use(
        PoolLimits {
            max_pool_size: 3,
            ..NO_LIMITS
        },
        2,
        now,
    );
    pool.check_in(key(1, 0), 1, Ok(()), || now);
    assert!(pool.close(now));
    assert!(!pool.close(now));
    assert_eq!(
        actions(&mut pool),
        [close(1, 0, ConnectionClosedReason::PoolClosed)]
    );
    pool.check_in(key(2, 0), 2, Ok(()), || now);
    assert_eq!(
        actions(&mut pool),
        [close(2, 0, ConnectionClosedReason::PoolClosed)]
    );
    assert_eq!(
        pool.check_out('a', now, |_| false),
        CheckOut::Refused(Refusal::Closed)
    );
    assert!(!pool.ready() && !pool.clear(CLEAR, now));
    assert_eq!(pool.generation(None), 0);
    assert_eq!(pool.counts().total, 0);
}

#[test]
fn closing_refuses_those_who_wait() {
    let now = Instant::now();
    let mut pool = ready(NO_LIMITS);
    wait(&mut pool, 'a', now);
    actions(&mut pool);
    pool.close(now);
    assert_eq!(
        actions(&mut pool),
        [Action::Fail {
            waiter: 'a',
            why: Refusal::Closed
        }]
    );
    assert_eq!(pool.established(key(1, 0), 1, now), Some(1), "given up");
    assert_eq!((actions(&mut pool), pool.counts().total), (vec![], 0));
}

#[test]
fn zero_max_connecting_counts_as_one() {
    let mut pool = ready(PoolLimits {
        max_connecting: 0,
        ..NO_LIMITS
    });
    wait(&mut pool, 'a', Instant::now());
    assert_eq!(actions(&mut pool), [Action::Establish(key(1, 0))]);
}
