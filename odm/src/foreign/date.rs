//! The milliseconds of a BSON date.

use crate::bson::{Bson, DateTime};
use crate::error::ValueError;

/// Milliseconds of a day.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
const DAY: i64 = 86_400_000;

/// The milliseconds of a stored date; `None` for other types.
pub(super) fn millis(stored: &Bson) -> Option<i64> {
    match stored {
        Bson::DateTime(date) => Some(date.timestamp_millis()),
        _ => None,
    }
}

/// The stored date.
pub(super) fn stored(millis: i64) -> Bson {
    Bson::DateTime(DateTime::from_millis(millis))
}

/// The error of a stored date that the type cannot represent.
#[cold]
pub(super) fn out_of_range(ty: &str) -> ValueError {
    ValueError::new(format!("the stored date is out of the range of `{ty}`"))
}

/// The milliseconds of a stored date that must be at midnight in UTC.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub(super) fn midnight(stored: &Bson, ty: &str) -> Result<Option<i64>, ValueError> {
    match millis(stored) {
        Some(millis) if millis.rem_euclid(DAY) != 0 => Err(ValueError::new(format!(
            "the stored date is not at midnight in UTC, so that it is not a `{ty}`"
        ))),
        millis => Ok(millis),
    }
}
