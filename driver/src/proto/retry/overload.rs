//! Retries after overload errors ([Client Backpressure]).
//!
//! [Client Backpressure]:
//! https://github.com/mongodb/specifications/blob/master/source/client-backpressure/client-backpressure.md

use std::time::Duration;

use crate::{Error, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR, bson::find_element};

const BASE_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// The error has the label `SystemOverloadedError`.
pub(super) fn is_overload(error: &Error) -> bool {
    error.contains_label(SYSTEM_OVERLOADED_ERROR)
}

/// The error also has the label `RetryableError`: the server did not execute the command, so any
/// command may be retried.
pub(in crate::proto) fn is_retryable_overload(error: &Error) -> bool {
    is_overload(error) && error.contains_label(RETRYABLE_ERROR)
}

/// The backoff before retry number `attempt`, from 1. `jitter` is a random number from 0 to 1, 1
/// excluded ("Backoff").
pub(super) fn pause(error: &Error, attempt: u32, jitter: f64) -> Duration {
    let base = base_backoff(error).unwrap_or(BASE_BACKOFF);
    let factor = 1_u32.checked_shl(attempt).unwrap_or(u32::MAX);
    base.saturating_mul(factor).min(MAX_BACKOFF).mul_f64(jitter)
}

/// `baseBackoffMS` of the error response.
fn base_backoff(error: &Error) -> Option<Duration> {
    let response = error.server_response()?;
    let value = find_element(response.as_bytes(), "baseBackoffMS").ok()??.value;
    let millis = value.int().ok().and_then(|value| u64::try_from(value).ok())?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, bson::rawdoc, error::CommandError};

    fn error() -> Error {
        Error::new(ErrorKind::Command(CommandError::default()))
    }

    #[test]
    fn pauses_double_up_to_ten_seconds() {
        let pauses: Vec<u128> = [1, 2, 3, 7, 40]
            .map(|attempt| pause(&error(), attempt, 0.5).as_millis())
            .to_vec();
        assert_eq!(pauses, [100, 200, 400, 5000, 5000]);
        assert_eq!(pause(&error(), 1, 0.0), Duration::ZERO);
    }

    #[test]
    fn the_server_may_name_the_base() {
        let said = |value: i32| error().with_response(&rawdoc! { "ok": 0, "baseBackoffMS": value });
        assert_eq!(pause(&said(50), 1, 0.5).as_millis(), 50);
        assert_eq!(pause(&said(0), 1, 0.5).as_millis(), 100, "zero counts as absent");
        assert_eq!(pause(&said(-5), 1, 0.5).as_millis(), 100);
    }
}
