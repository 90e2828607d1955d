//! The monitor on a clock of the tests' own.

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

/// A monitor whose first check runs.
fn begun(streaming: bool) -> (Monitor, Instant) {
    let start = Instant::now();
    let mut monitor = Monitor::new(settings(streaming));
    assert_eq!(monitor.poll(start), Step::Check(Check::Handshake));
    (monitor, start)
}

#[test]
fn an_old_server_is_asked_every_heartbeat() {
    let (mut monitor, start) = begun(true);
    // The time counts from the end of the check.
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
fn a_new_server_streams_without_pause() {
    let (mut monitor, now) = begun(true);
    monitor.handle_answer(news(1, false), now);
    assert!(monitor.is_streaming());
    assert_eq!(monitor.poll(now), Step::Check(Check::Await(version(1))));
    monitor.handle_answer(news(2, true), now);
    assert_eq!(monitor.poll(now), Step::Check(Check::Next));
    monitor.handle_answer(news(3, true), now);
    assert_eq!(monitor.poll(now), Step::Check(Check::Next));
    // The server ends the stream: it is asked to begin another from the last state.
    monitor.handle_answer(news(4, false), now);
    assert_eq!(monitor.poll(now), Step::Check(Check::Await(version(4))));
    // It says no more whether it can.
    monitor.handle_answer(OLD, now);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
}

#[test]
fn where_streaming_is_off_new_servers_are_polled() {
    let (mut monitor, now) = begun(false);
    monitor.handle_answer(news(1, false), now);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
    assert_eq!(monitor.poll(now + HEARTBEAT), Step::Check(Check::Hello));
}

#[test]
fn a_requested_check_waits_for_the_minimum_alone() {
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
    // Long after the last check there is nothing to wait for.
    monitor.request_check();
    assert_eq!(monitor.poll(now + MIN + MIN), Step::Check(Check::Hello));
}

#[test]
fn a_request_during_a_check_is_answered_by_it() {
    for fails in [false, true] {
        let (mut monitor, now) = begun(false);
        monitor.request_check();
        match fails {
            true => monitor.handle_failure(false, now),
            false => monitor.handle_answer(OLD, now),
        }
        assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
    }
    // But a cancelled check answers nobody.
    let (mut monitor, now) = begun(false);
    monitor.request_check();
    monitor.handle_cancellation(now);
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + MIN)));
}

#[test]
fn one_lost_connection_is_retried_once() {
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
fn an_error_in_the_answer_is_not_retried_at_once() {
    let (mut monitor, now) = begun(true);
    monitor.handle_answer(news(1, true), now);
    monitor.poll(now);
    monitor.handle_failure(false, now);
    assert_eq!(monitor.poll(now), Step::Wait(Some(now + HEARTBEAT)));
    assert_eq!(monitor.poll(now + HEARTBEAT), Step::Check(Check::Handshake));
}

#[test]
fn a_cancelled_check_rests_and_a_rest_goes_on() {
    let (mut monitor, now) = begun(true);
    monitor.handle_answer(news(1, true), now);
    monitor.poll(now);
    let later = now + Duration::from_secs(3);
    monitor.handle_cancellation(later);
    assert!(!monitor.is_streaming());
    assert_eq!(monitor.poll(later), Step::Wait(Some(later + HEARTBEAT)));
    // A cancellation meanwhile is no new check.
    monitor.handle_cancellation(later + MIN);
    monitor.request_check();
    assert_eq!(monitor.poll(later + MIN), Step::Check(Check::Handshake));
    // The server was not known: a network error now is not retried at once.
    monitor.handle_failure(true, later + MIN);
    assert!(matches!(monitor.poll(later + MIN), Step::Wait(_)));
}

#[test]
fn awaited_answers_get_the_time_that_the_server_waits() {
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
fn a_heartbeat_beyond_all_time_waits_for_a_request() {
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
enum Happens {
    Time(u64),
    Request,
    Answer { can_stream: bool, more: bool },
    Failure { network: bool },
    Cancellation,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        (0_u64..12_000).prop_map(Happens::Time),
        Just(Happens::Request),
        (any::<bool>(), any::<bool>()).prop_map(|(can_stream, more)| Happens::Answer { can_stream, more }),
        any::<bool>().prop_map(|network| Happens::Failure { network }),
        Just(Happens::Cancellation),
    ]
}

proptest! {
    /// Whatever happens: checks that were not streamed or retried keep their distance, no wait is longer than a heartbeat
    /// from the last check, a request is never forgotten, and what needs a connection has one.
    #[test]
    fn every_history_keeps_the_rules(streaming in any::<bool>(), history in prop::collection::vec(happens(), 1..60)) {
        let mut now = Instant::now();
        let mut monitor = Monitor::new(settings(streaming));
        let mut last_end: Option<Instant> = None;
        let (mut running, mut connected, mut known, mut at_once, mut requested) = (false, false, false, true, false);
        for event in history {
            match monitor.poll(now) {
                Step::Check(check) => {
                    if !running {
                        let rested = last_end.is_none_or(|end| now >= end + MIN);
                        prop_assert!(at_once || rested, "a check of {check:?} came too soon");
                        requested = false;
                    }
                    running = true;
                    prop_assert_eq!(check != Check::Handshake, connected);
                    prop_assert!(streaming || !check.is_awaited());
                }
                Step::Wait(until) => {
                    let end = last_end.expect("the first check waits for nothing");
                    prop_assert!(!running && !at_once);
                    prop_assert_eq!(until, Some(end + if requested { MIN } else { HEARTBEAT }));
                }
            }
            match event {
                Happens::Time(millis) => now += Duration::from_millis(millis),
                Happens::Request => {
                    monitor.request_check();
                    requested = true;
                }
                Happens::Cancellation => {
                    monitor.handle_cancellation(now);
                    if running {
                        last_end = Some(now);
                    }
                    (running, connected, known, at_once) = (false, false, false, false);
                }
                Happens::Answer { .. } | Happens::Failure { .. } if !running => {}
                Happens::Answer { can_stream, more } => {
                    let more_to_come = more && can_stream && streaming;
                    let topology_version = can_stream.then(|| version(1));
                    monitor.handle_answer(Answer { topology_version, more_to_come }, now);
                    prop_assert_eq!(monitor.is_streaming(), streaming && can_stream);
                    (running, connected, known, requested) = (false, true, true, false);
                    at_once = streaming && can_stream;
                    last_end = Some(now);
                }
                Happens::Failure { network } => {
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
