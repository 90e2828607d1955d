//! `maxTimeMS` of a command whose operation has a time limit ([Client Side Operations Timeout],
//! "Command Execution" and "Cursors").
//!
//! [Client Side Operations Timeout]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-operations-timeout/client-side-operations-timeout.md

use std::time::Duration;

/// What a command sends as `maxTimeMS` if `timeoutMS` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaxTime {
    /// The time left without the round trip time.
    Remaining,
    /// Nothing: only the driver enforces the time limit. For getMore, and for commands whose cursor
    /// has time limits for each iteration, since the server would limit the whole cursor.
    ByDriver,
    /// `maxAwaitTimeMS`, at most the time left without the round trip time. For getMore of a cursor
    /// that waits for data.
    Await(Duration),
}

/// The time left is not longer than the round trip time, so the command must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLate;

/// `maxTimeMS` of a command in milliseconds; `None` is not sent. `remaining` is the time left
/// (`None`: no limit), `round_trip` the minimum round trip time of the server.
///
/// Rounded up, because 0 would mean no limit. A value that the server would reject as too large is
/// not sent.
///
/// # Errors
/// The reply cannot arrive in time.
pub(crate) fn max_time_ms(
    rule: MaxTime,
    remaining: Option<Duration>,
    round_trip: Duration,
) -> Result<Option<i64>, TooLate> {
    let for_server = match remaining {
        None => None,
        Some(left) => Some(
            left.checked_sub(round_trip)
                .filter(|time| !time.is_zero())
                .ok_or(TooLate)?,
        ),
    };
    let limit = match rule {
        MaxTime::Remaining => for_server,
        MaxTime::ByDriver => None,
        MaxTime::Await(time) => Some(for_server.map_or(time, |left| left.min(time))),
    };
    Ok(limit.and_then(millis))
}

/// Whole milliseconds, rounded up and at least 1, if the server accepts that number.
fn millis(time: Duration) -> Option<i64> {
    let millis = time.as_micros().div_ceil(1_000).max(1);
    i32::try_from(millis).ok().map(i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(10);

    fn remaining(rule: MaxTime, micros: u64) -> Result<Option<i64>, TooLate> {
        max_time_ms(rule, Some(Duration::from_micros(micros)), RTT)
    }

    #[test]
    fn max_time_is_the_time_left_without_the_round_trip() {
        let rule = MaxTime::Remaining;
        assert_eq!(remaining(rule, 500_000), Ok(Some(490)));
        assert_eq!(
            remaining(rule, 10_001),
            Ok(Some(1)),
            "rounded up: 0 would be no limit"
        );
        assert_eq!(remaining(rule, 11_001), Ok(Some(2)));
        assert_eq!(
            max_time_ms(rule, Some(Duration::from_nanos(1)), Duration::ZERO),
            Ok(Some(1))
        );
        assert_eq!(max_time_ms(rule, None, RTT), Ok(None), "no limit");
    }

    #[test]
    fn nothing_is_sent_if_the_reply_cannot_arrive_in_time() {
        for rule in [MaxTime::Remaining, MaxTime::ByDriver, MaxTime::Await(RTT)] {
            for micros in [0, 1, 9_999, 10_000] {
                assert_eq!(remaining(rule, micros), Err(TooLate), "{rule:?} with {micros}");
            }
            assert_eq!(
                max_time_ms(rule, Some(Duration::ZERO), Duration::ZERO),
                Err(TooLate)
            );
        }
    }

    #[test]
    fn a_value_above_the_limit_of_the_server_is_not_sent() {
        let most = Duration::from_millis(2_147_483_647);
        let rule = MaxTime::Remaining;
        assert_eq!(
            max_time_ms(rule, Some(most), Duration::ZERO),
            Ok(Some(2_147_483_647))
        );
        assert_eq!(
            max_time_ms(rule, Some(most + Duration::from_nanos(1_001)), Duration::ZERO),
            Ok(None)
        );
        assert_eq!(max_time_ms(rule, Some(Duration::MAX), Duration::ZERO), Ok(None));
    }

    #[test]
    fn the_driver_alone_limits_iterations() {
        assert_eq!(remaining(MaxTime::ByDriver, 500_000), Ok(None));
        assert_eq!(max_time_ms(MaxTime::ByDriver, None, RTT), Ok(None));
    }

    #[test]
    fn a_get_more_waits_for_data_at_most_for_the_time_left() {
        let rule = MaxTime::Await(Duration::from_millis(100));
        assert_eq!(remaining(rule, 500_000), Ok(Some(100)));
        assert_eq!(remaining(rule, 60_000), Ok(Some(50)));
        assert_eq!(max_time_ms(rule, None, RTT), Ok(Some(100)));
        assert_eq!(
            max_time_ms(MaxTime::Await(Duration::ZERO), None, RTT),
            Ok(Some(1))
        );
    }
}
