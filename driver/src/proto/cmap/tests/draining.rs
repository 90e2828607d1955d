//! Connections that owe a reply.

use super::*;

fn drain(id: u32) -> Action<u32, char, &'static str> {
    Action::Drain {
        key: key(id, 0),
        connection: id,
    }
}

/// A pool with connection 1 draining.
fn with_draining(limits: PoolLimits, now: Instant) -> Machine {
    let mut pool = with_in_use(limits, 1, now);
    pool.check_in_owing(key(1, 0), 1, now);
    assert_eq!(actions(&mut pool), [drain(1)]);
    pool
}

#[test]
fn a_drained_connection_is_used_again() {
    let now = Instant::now();
    let mut pool = with_draining(NO_LIMITS, now);
    assert!(pool.is_draining(key(1, 0)));
    let counts = Counts {
        total: 1,
        available: 0,
        pending: 0,
        draining: 1,
        waiting: 0,
    };
    assert_eq!(pool.counts(), counts);
    assert_eq!(pool.try_check_out(now, |_| false), None);
    assert_eq!(pool.drained(key(1, 0), 1, Ok(()), now), None);
    assert!(!pool.is_draining(key(1, 0)));
    assert_eq!(pool.try_check_out(now, |_| false), Some((key(1, 0), 1)));
}

#[test]
fn a_draining_connection_is_expected_to_serve_one_request() {
    let now = Instant::now();
    let mut pool = with_draining(NO_LIMITS, now);
    let first = wait(&mut pool, 'a', now);
    assert_eq!(actions(&mut pool), []);
    // waitQueueTimeoutMS applies to the request.
    assert!(!pool.is_being_served(first));
    wait(&mut pool, 'b', now);
    assert_eq!(actions(&mut pool), [Action::Establish(key(2, 0))]);
    assert_eq!(pool.drained(key(1, 0), 1, Ok(()), now), None);
    assert_eq!(actions(&mut pool), [fulfil('a', 1)]);
    assert_eq!(pool.established(key(2, 0), 2, now), None);
    assert_eq!(actions(&mut pool), [fulfil('b', 2)]);
}

#[test]
fn a_request_gets_a_new_connection_if_the_drain_is_slow_or_fails() {
    let now = Instant::now();
    for slow in [true, false] {
        let mut pool = with_draining(NO_LIMITS, now);
        wait(&mut pool, 'a', now);
        assert_eq!(actions(&mut pool), []);
        if slow {
            pool.drain_slow(key(1, 0), true, now);
            assert_eq!(actions(&mut pool), [Action::Establish(key(2, 0))]);
            assert_eq!(pool.counts().draining, 1);
        } else {
            assert_eq!(pool.drained(key(1, 0), 1, Err(Some("silent")), now), None);
            assert_eq!(
                actions(&mut pool),
                [
                    close(1, 0, ConnectionClosedReason::Error),
                    Action::Establish(key(2, 0))
                ]
            );
            assert_eq!(pool.counts().total, 1);
        }
        assert_eq!(pool.established(key(2, 0), 2, now), None);
        assert_eq!(actions(&mut pool), [fulfil('a', 2)]);
    }
}

#[test]
fn a_draining_connection_counts_for_max_pool_size() {
    let now = Instant::now();
    let mut pool = with_draining(
        PoolLimits {
            max_pool_size: 1,
            ..NO_LIMITS
        },
        now,
    );
    wait(&mut pool, 'a', now);
    assert_eq!(actions(&mut pool), []);
    assert_eq!(pool.drained(key(1, 0), 1, Ok(()), now), None);
    assert_eq!(actions(&mut pool), [fulfil('a', 1)]);
}

#[test]
fn in_a_full_pool_a_request_takes_the_place_of_the_slow_connection_that_drains_longest() {
    let now = Instant::now();
    let limits = PoolLimits {
        max_pool_size: 2,
        max_connecting: 1,
        ..NO_LIMITS
    };
    let mut pool = with_in_use(limits, 2, now);
    for id in [2, 1] {
        pool.check_in_owing(key(id, 0), id, now);
        assert_eq!(actions(&mut pool), [drain(id)]);
        pool.drain_slow(key(id, 0), true, now);
    }
    assert_eq!(actions(&mut pool), [], "no request waits");
    wait(&mut pool, 'a', now);
    wait(&mut pool, 'b', now);
    assert_eq!(
        actions(&mut pool),
        [Action::Abandon, Action::Establish(key(3, 0))]
    );
    assert!(!pool.is_draining(key(2, 0)) && pool.is_draining(key(1, 0)));
    assert_eq!(pool.counts().total, 2);
    assert_eq!(
        pool.drained(key(2, 0), 2, Ok(()), now),
        Some(2),
        "no longer wanted"
    );
    assert_eq!(pool.established(key(3, 0), 3, now), None);
    assert_eq!(
        actions(&mut pool),
        [fulfil('a', 3), Action::Abandon, Action::Establish(key(4, 0))],
        "maxConnecting permits one at a time"
    );
}

#[test]
fn a_stale_connection_is_closed_and_not_drained() {
    let now = Instant::now();
    let mut pool = with_in_use(NO_LIMITS, 1, now);
    pool.clear(CLEAR, now);
    pool.check_in_owing(key(1, 0), 1, now);
    assert_eq!(actions(&mut pool), [close(1, 0, ConnectionClosedReason::Stale)]);
    assert_eq!(pool.counts().total, 0);
    let mut pool = with_in_use(NO_LIMITS, 1, now);
    pool.close(now);
    pool.check_in_owing(key(1, 0), 1, now);
    assert_eq!(
        actions(&mut pool),
        [close(1, 0, ConnectionClosedReason::PoolClosed)]
    );
}

/// The events of both are emitted at once: no `ConnectionClosed` follows `PoolClosed`.
#[test]
fn a_clear_and_a_close_give_up_draining_connections() {
    let now = Instant::now();
    for closes in [false, true] {
        let mut pool = Machine::new(NO_LIMITS, true);
        pool.ready();
        wait(&mut pool, 'a', now);
        assert_eq!(pool.established(key(1, 0), 1, now), None);
        pool.check_in_owing(key(1, 0), 1, now);
        actions(&mut pool);
        let (reason, event) = if closes {
            pool.close(now);
            (ConnectionClosedReason::PoolClosed, Event::PoolClosed)
        } else {
            pool.clear(CLEAR, now);
            let cleared = Event::PoolCleared {
                service_id: None,
                interrupt_in_use: false,
            };
            (ConnectionClosedReason::Stale, cleared)
        };
        let closed = Action::Emit(Event::ConnectionClosed {
            id: 1,
            reason,
            error: None,
        });
        let mut expected = [closed, Action::Emit(event)];
        if !closes {
            expected.reverse();
        }
        assert_eq!(actions(&mut pool), expected);
        assert_eq!(pool.counts().total, 0);
        assert!(!pool.is_draining(key(1, 0)));
        assert_eq!(pool.drained(key(1, 0), 1, Ok(()), now), Some(1));
        assert_eq!(actions(&mut pool), []);
    }
}

#[test]
fn a_clear_of_one_service_gives_up_its_draining_connections_only() {
    let now = Instant::now();
    let services = [ObjectId::from_bytes([1; 12]), ObjectId::from_bytes([2; 12])];
    let mut pool = ready(NO_LIMITS);
    let keys = services.map(|service| {
        wait(&mut pool, 'a', now);
        let [.., Action::Establish(key)] = actions(&mut pool)[..] else {
            panic!("no connection is established");
        };
        let key = pool.identify(key, service);
        assert_eq!(pool.established(key, key.id, now), None);
        actions(&mut pool);
        key
    });
    for key in keys {
        pool.check_in_owing(key, key.id, now);
    }
    let service_id = Some(services[0]);
    pool.clear(Clear { service_id, ..CLEAR }, now);
    assert_eq!(keys.map(|key| pool.is_draining(key)), [false, true]);
    assert_eq!(pool.counts().total, 1);
    // The other service is cleared while a request waits for its connection.
    wait(&mut pool, 'b', now);
    assert_eq!(pool.counts().pending, 0);
    let service_id = Some(services[1]);
    pool.clear(Clear { service_id, ..CLEAR }, now);
    assert_eq!(pool.counts().pending, 1);
}
