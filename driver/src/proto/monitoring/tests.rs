//! Tests of the monitor with a virtual clock.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::bson::ObjectId;

const HEARTBEAT: Duration = Duration::from_secs(10);
const MIN: Duration = MIN_HEARTBEAT_FREQUENCY;
const OLD: Answer = Answer {
    topology_version: None,
    more_to_come: false,
};

fn settings(streaming: bool) -> MonitorSettings {
    MonitorSettings {
        streaming,
        heartbeat_frequency: HEARTBEAT,
        connect_timeout: Duration::from_secs(3),
    }
}

fn version(counter: i64) -> TopologyVersion {
    TopologyVersion {
        process_id: ObjectId::from_bytes([7; 12]),
        counter,
    }
}

fn news(counter: i64, more_to_come: bool) -> Answer {
    Answer {
        topology_version: Some(version(counter)),
        more_to_come,
    }
}

/// A monitor whose first check is running.
fn begun(streaming: bool) -> (Monitor, Instant) {
    let start = Instant::now();
    let mut monitor = Monitor::new(settings(streaming));
    assert_eq!(monitor.poll(start), Step::Check(Check::Handshake));
    (monitor, start)
}

#[test]
fn a_server_without_streaming_is_polled() {
    let (mut monitor, start) = begun(true);
    // The interval starts at the end of the check.
    let end = start + Duration::from_secs(1);
    monitor.handle_answer(OLD, end);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(end), Step::Wait(Some(end + HEARTBEAT)));
    assert_eq!(monitor.poll(end + HEARTBEAT), Step::Check(Check::Hello));
    assert_eq!(
        monitor.poll(end + HEARTBEAT),
        Step::Check(Check::Hello),
        "it still runs"
    );
}

#[test]
fn a_server_with_streaming_is_checked_continuously() {
    let (mut monitor, now) = begun(true);
    monitor.handle_answer(news(1, false), now);
    assert!(monitor.is_streaming());
    assert_eq!(monitor.poll(now), Step::Check(Check::Await(version(1))));
    monitor.handle_answer(news(2, true), now);
    assert_eq!(monitor.poll(now), Step::Check(Check::Next));
    monitor.handle_answer(news(3, true), now);
    assert_eq!(monitor.poll(now), Step::Check(Check::Next));
    // The server ends the stream: a new one is started from the last topologyVersion.
    monitor.handle_answer(news(4, false), now);
    assert_eq!(monitor.poll(now), Step::Check(Check::Await(version(4))));
    // The reply has no topologyVersion, so the server is polled.
    monitor.handle_answer(OLD, now);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
}

#[test]
fn without_streaming_all_servers_are_polled() {
    let (mut monitor, now) = begun(false);
    monitor.handle_answer(news(1, false), now);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
    assert_eq!(monitor.poll(now + HEARTBEAT), Step::Check(Check::Hello));
}

#[test]
fn a_requested_check_waits_for_min_heartbeat_frequency() {
    let (mut monitor, now) = begun(false);
    monitor.handle_answer(OLD, now);
    monitor.request_check();
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + MIN)));
    assert_eq!(monitor.poll(now + MIN), Step::Check(Check::Hello));
    monitor.handle_answer(OLD, now + MIN);
    assert_eq!(
        monitor.poll(now + MIN),
        Step::Wait(Some(now + MIN + HEARTBEAT)),
        "one check each"
    );
    // After the minimum interval, a requested check starts immediately.
    monitor.request_check();
    assert_eq!(monitor.poll(now + MIN + MIN), Step::Check(Check::Hello));
}

#[test]
fn a_running_check_satisfies_a_request() {
    for fails in [false, true] {
        let (mut monitor, now) = begun(false);
        monitor.request_check();
        if fails {
            monitor.handle_failure(false, now);
        } else {
            monitor.handle_answer(OLD, now);
        }
        assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
    }
    // A cancelled check does not satisfy a request.
    let (mut monitor, now) = begun(false);
    monitor.request_check();
    monitor.handle_cancellation(now);
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + MIN)));
}

#[test]
fn a_network_error_is_retried_once() {
    let (mut monitor, now) = begun(true);
    monitor.handle_failure(true, now);
    assert_eq!(
        monitor.poll(now),
        Step::Wait(Some(now + HEARTBEAT)),
        "it was not known before"
    );
    let mut now = now + HEARTBEAT;
    monitor.poll(now);
    monitor.handle_answer(news(1, true), now);
    monitor.poll(now);
    now += HEARTBEAT;
    monitor.handle_failure(true, now);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(now), Step::Check(Check::Handshake));
    monitor.handle_failure(true, now);
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
}

#[test]
fn a_command_error_is_not_retried_immediately() {
    let (mut monitor, now) = begun(true);
    monitor.handle_answer(news(1, true), now);
    monitor.poll(now);
    monitor.handle_failure(false, now);
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
    assert_eq!(monitor.poll(now + HEARTBEAT), Step::Check(Check::Handshake));
}

#[test]
fn the_interval_applies_after_a_cancelled_check() {
    let (mut monitor, now) = begun(true);
    monitor.handle_answer(news(1, true), now);
    monitor.poll(now);
    let later = now + Duration::from_secs(3);
    monitor.handle_cancellation(later);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(later), Step::Wait(Some(later + HEARTBEAT)));
    // A cancellation while no check runs does not cause a check.
    monitor.handle_cancellation(later + MIN);
    monitor.request_check();
    assert_eq!(monitor.poll(later + MIN), Step::Check(Check::Handshake));
    // The server was not known, so the network error is not retried immediately.
    monitor.handle_failure(true, later + MIN);
    assert!(matches!(monitor.poll(later + MIN), Step::Wait(_)));
}

#[test]
fn the_timeout_of_awaitable_checks_includes_the_heartbeat() {
    let settings = settings(true);
    for (check, seconds, awaited) in [
        (Check::Handshake, 3, false),
        (Check::Hello, 3, false),
        (Check::Await(version(1)), 13, true),
        (Check::Next, 13, true),
    ] {
        assert_eq!(settings.timeout(check), Some(Duration::from_secs(seconds)));
        assert_eq!((check.is_awaited(), check.is_round_trip()), (awaited, !awaited));
        let unlimited = MonitorSettings {
            connect_timeout: Duration::ZERO,
            ..settings
        };
        assert_eq!(unlimited.timeout(check), None);
    }
}

#[test]
fn an_unrepresentable_heartbeat_time_waits_for_a_request() {
    let start = Instant::now();
    let mut monitor = Monitor::new(MonitorSettings {
        heartbeat_frequency: Duration::MAX,
        ..settings(false)
    });
    monitor.poll(start);
    monitor.handle_answer(OLD, start);
    assert_eq!(monitor.poll(start), Step::Wait(None));
    monitor.request_check();
    assert_eq!(monitor.poll(start), Step::Wait(Some(start + MIN)));
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Time(u64),
    Request,
    Answer { can_stream: bool, more: bool },
    Failure { network: bool },
    Cancellation,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0_u64..12_000).prop_map(Event::Time),
        Just(Event::Request),
        (any::<bool>(), any::<bool>()).prop_map(|(can_stream, more)| Event::Answer { can_stream, more }),
        any::<bool>().prop_map(|network| Event::Failure { network }),
        Just(Event::Cancellation),
    ]
}

proptest! {
    /// For any sequence of events: checks that are not streamed or retried keep the minimum
    /// interval, no wait exceeds the heartbeat interval since the last check, every request leads
    /// to a check, and a check that needs a connection has one.
    #[test]
    fn every_sequence_satisfies_the_rules(streaming in any::<bool>(), history in prop::collection::vec(event(), 1..60)) {
        let mut now = Instant::now();
        let mut monitor = Monitor::new(settings(streaming));
        let mut last_end: Option<Instant> = None;
        let (mut running, mut connected, mut known, mut at_once, mut requested) = (false, false, false, true, false);
        for event in history {
            match monitor.poll(now) {
                Step::Check(check) => {
                    if !running {
                        let rested = last_end.is_none_or(|end| now >= end + MIN);
                        prop_assert!(at_once || rested, "a check of {check:?} started too early");
                        requested = false;
                    }
                    running = true;
                    prop_assert_eq!(check != Check::Handshake, connected);
                    prop_assert!(streaming || !check.is_awaited());
                }
                Step::Wait(until) => {
                    let end = last_end.expect("the first check is due immediately");
                    prop_assert!(!running && !at_once);
                    prop_assert_eq!(until, Some(end + if requested { MIN } else { HEARTBEAT }));
                }
            }
            match event {
                Event::Time(millis) => now += Duration::from_millis(millis),
                Event::Request => {
                    monitor.request_check();
                    requested = true;
                }
                Event::Cancellation => {
                    monitor.handle_cancellation(now);
                    if running {
                        last_end = Some(now);
                    }
                    (running, connected, known, at_once) = (false, false, false, false);
                }
                Event::Answer { .. } | Event::Failure { .. } if !running => {}
                Event::Answer { can_stream, more } => {
                    let more_to_come = more && can_stream && streaming;
                    let topology_version = can_stream.then(|| version(1));
                    monitor.handle_answer(Answer { topology_version, more_to_come }, now);
                    prop_assert_eq!(monitor.is_streaming(), streaming && can_stream);
                    (running, connected, known, requested) = (false, true, true, false);
                    at_once = streaming && can_stream;
                    last_end = Some(now);
                }
                Event::Failure { network } => {
                    monitor.handle_failure(network, now);
                    prop_assert!(!monitor.is_streaming());
                    at_once = network && known;
                    (running, connected, known, requested) = (false, false, false, false);
                    last_end = Some(now);
                }
            }
        }
    }
}
