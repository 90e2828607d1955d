//! The order of events, among themselves and around the deeds.

use super::*;
use crate::{bson::ObjectId, proto::event::ConnectionClosedReason as Reason};

const ZERO: Duration = Duration::ZERO;

fn emitting(limits: PoolLimits) -> Machine {
    Machine::new(limits, true)
}

fn created(id: u32) -> Event<&'static str> {
    Event::ConnectionCreated { id }
}

fn closed(id: u32, reason: Reason) -> Event<&'static str> {
    let error = None;
    Event::ConnectionClosed { id, reason, error }
}

fn refused(why: Refusal<&'static str>, duration: Duration) -> Event<&'static str> {
    Event::CheckOutFailed {
        why: Some(why),
        duration,
    }
}

const CLEARED: Event<&str> = Event::PoolCleared {
    service_id: None,
    interrupt_in_use: false,
};

fn events(pool: &mut Machine) -> Vec<Event<&'static str>> {
    let emitted = |action| match action {
        Action::Emit(event) => Some(event),
        _ => None,
    };
    actions(pool).into_iter().filter_map(emitted).collect()
}

fn establish(pool: &mut Machine, id: u32, now: Instant) {
    assert_eq!(pool.established(key(id, 0), id, now), None);
}

#[test]
fn a_connection_is_created_ready_and_checked_out() {
    let start = Instant::now();
    let later = start + Duration::from_millis(5);
    let mut pool = emitting(NO_LIMITS);
    pool.ready();
    wait(&mut pool, 'a', start);
    assert_eq!(
        actions(&mut pool),
        [
            Action::Emit(Event::PoolReady),
            Action::Emit(Event::CheckOutStarted),
            Action::Emit(created(1)),
            Action::Establish(key(1, 0)),
        ]
    );
    establish(&mut pool, 1, later);
    let duration = later - start;
    assert_eq!(
        actions(&mut pool),
        [
            Action::Emit(Event::ConnectionReady { id: 1, duration }),
            Action::Emit(Event::CheckedOut { id: 1, duration }),
            fulfil('a', 1),
        ]
    );
    pool.check_in(key(1, 0), 1, Ok(()), || later);
    assert_eq!(pool.try_check_out(later, |_| false), Some((key(1, 0), 1)));
    assert_eq!(
        events(&mut pool),
        [
            Event::CheckedIn { id: 1 },
            Event::CheckOutStarted,
            Event::CheckedOut {
                id: 1,
                duration: ZERO
            },
        ]
    );
}

#[test]
fn an_unsuccessful_try_emits_no_check_out_event() {
    let now = Instant::now();
    let mut pool = emitting(NO_LIMITS);
    pool.ready();
    wait(&mut pool, 'a', now);
    establish(&mut pool, 1, now);
    pool.check_in(key(1, 0), 1, Ok(()), || now);
    events(&mut pool);
    assert_eq!(pool.try_check_out(now, |_| true), None, "it has perished");
    assert!(!pool.has_actions());
    match pool.check_out('b', now, |_| true) {
        CheckOut::Waiting(_) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(
        events(&mut pool),
        [Event::CheckOutStarted, closed(1, Reason::Error), created(2)]
    );
}

#[test]
fn a_failure_that_clears_the_pool_emits_events_in_the_specified_order() {
    let start = Instant::now();
    let later = start + Duration::from_secs(1);
    let mut pool = emitting(NO_LIMITS);
    pool.ready();
    for waiter in ['a', 'b', 'c'] {
        wait(&mut pool, waiter, start);
    }
    events(&mut pool);
    let failing = pool.failing_request(key(1, 0)).unwrap();
    assert!(pool.clear(CLEAR, later));
    pool.establish_failed(failing, &"refused", later);
    let others = || refused(Refusal::Cleared(Some("down")), later - start);
    assert_eq!(
        events(&mut pool),
        [
            CLEARED,
            closed(2, Reason::Stale),
            others(),
            others(),
            Event::ConnectionClosed {
                id: 1,
                reason: Reason::Error,
                error: Some("refused"),
            },
            refused(Refusal::Failed("refused"), later - start),
        ]
    );
    assert!(!pool.clear(CLEAR, later), "a paused pool is not cleared again");
    assert_eq!(
        pool.check_out('d', later, |_| false),
        CheckOut::Refused(Refusal::Cleared(Some("down")))
    );
    assert_eq!(
        events(&mut pool),
        [
            Event::CheckOutStarted,
            refused(Refusal::Cleared(Some("down")), ZERO)
        ]
    );
}

#[test]
fn a_closed_pool_closes_its_connections_first() {
    let now = Instant::now();
    let limits = PoolLimits {
        max_pool_size: 2,
        ..NO_LIMITS
    };
    let mut pool = emitting(limits);
    pool.ready();
    for id in [1, 2] {
        wait(&mut pool, 'x', now);
        establish(&mut pool, id, now);
    }
    pool.check_in(key(1, 0), 1, Ok(()), || now);
    pool.check_in(key(2, 0), 2, Ok(()), || now);
    assert!(pool.try_check_out(now, |_| false).is_some());
    assert!(pool.try_check_out(now, |_| false).is_some());
    wait(&mut pool, 'a', now);
    pool.check_in(key(1, 0), 1, Err(None), || now);
    let gone = wait(&mut pool, 'b', now);
    assert_eq!(pool.cancel(gone, now), Some('b'));
    events(&mut pool);
    assert!(pool.close(now));
    pool.check_in(key(2, 0), 2, Err(Some("broken")), || now);
    assert_eq!(
        events(&mut pool),
        [
            closed(3, Reason::PoolClosed),
            Event::PoolClosed,
            refused(Refusal::Closed, ZERO),
            Event::CheckedIn { id: 2 },
            Event::ConnectionClosed {
                id: 2,
                reason: Reason::PoolClosed,
                error: Some("broken"),
            },
        ]
    );
}

#[test]
fn a_cancelled_request_emits_a_failure() {
    let start = Instant::now();
    let later = start + Duration::from_secs(2);
    let mut pool = emitting(NO_LIMITS);
    pool.ready();
    let a = wait(&mut pool, 'a', start);
    events(&mut pool);
    assert_eq!(pool.cancel(a, later), Some('a'));
    assert_eq!(pool.cancel(a, later), None);
    let failed = Event::CheckOutFailed {
        why: None,
        duration: later - start,
    };
    assert_eq!(events(&mut pool), [failed]);
}

#[test]
fn interrupting_names_the_generations_up_to_the_old_one() {
    let now = Instant::now();
    let mut pool = emitting(NO_LIMITS);
    pool.ready();
    events(&mut pool);
    let interrupting = || Clear {
        interrupt_in_use: true,
        ..CLEAR
    };
    let interrupt = |generation| Action::Interrupt {
        service_id: None,
        generation,
    };
    pool.clear(interrupting(), now);
    let cleared = Action::Emit(Event::PoolCleared {
        service_id: None,
        interrupt_in_use: true,
    });
    assert_eq!(actions(&mut pool), [cleared, interrupt(0)]);
    // The pool is already paused, so no event is emitted, but connections of earlier generations may
    // still be in use.
    pool.clear(interrupting(), now);
    assert_eq!(actions(&mut pool), [interrupt(1)]);
}

#[test]
fn a_service_is_cleared_alone() {
    let now = Instant::now();
    let service = |number| ObjectId::from_bytes([number; 12]);
    let mut pool = emitting(PoolLimits {
        max_connecting: 5,
        ..NO_LIMITS
    });
    pool.ready();
    let mut keys = Vec::new();
    for (id, number) in [(1, 1), (2, 2), (3, 1)] {
        wait(&mut pool, 'x', now);
        let key = pool.identify(key(id, 0), service(number));
        assert_eq!((key.generation, key.service_id), (0, Some(service(number))));
        assert_eq!(pool.established(key, id, now), None);
        keys.push(key);
    }
    let clear = |number| Clear {
        service_id: Some(service(number)),
        ..CLEAR
    };
    events(&mut pool);
    assert!(!pool.clear(clear(9), now), "it has no connections");
    assert!(pool.clear(clear(1), now));
    assert_eq!(pool.state(), PoolState::Ready, "the others are not concerned");
    let generations = [1, 2].map(|number| pool.generation(Some(service(number))));
    assert_eq!(generations, [1, 0]);
    wait(&mut pool, 'y', now);
    let new = pool.identify(key(4, 0), service(1));
    assert_eq!(new.generation, 1);
    for (id, key) in (1..).zip(&keys) {
        pool.check_in(*key, id, Ok(()), || now);
    }
    let reasons: Vec<_> = events(&mut pool)
        .into_iter()
        .filter(|event| matches!(event, Event::ConnectionClosed { .. }))
        .collect();
    assert_eq!(reasons, [closed(1, Reason::Stale), closed(3, Reason::Stale)]);
    // With its last connection the service is forgotten, and with it the generation.
    let failing = pool.failing_request(new).unwrap();
    pool.establish_failed(failing, &"login", now);
    assert_eq!(pool.generation(Some(service(1))), 0);
    assert_eq!(pool.counts().total, 1);
}
