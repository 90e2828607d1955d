//! Types that are stored as a date: the milliseconds since 1970.

use crate::{
    base::{
        bson::{DateTime, DecodeError},
        error::ValueError,
    },
    values::codec::{Decode, Value},
};

/// Milliseconds of a day.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
const DAY: i64 = 86_400_000;

/// A type that is stored as a date.
pub(crate) trait StoredDate: Sized {
    /// The milliseconds since 1970.
    ///
    /// # Errors
    /// They are out of the range of a BSON date.
    fn to_millis(&self) -> Result<i64, ValueError>;

    /// The date at these milliseconds.
    ///
    /// # Errors
    /// They are out of the range of the type, or not at midnight for a type of days.
    fn from_millis(millis: i64) -> Result<Self, ValueError>;
}

/// The stored date.
///
/// # Errors
/// It is out of the range of a BSON date.
#[inline]
pub(super) fn store<T: StoredDate>(value: &T) -> Result<DateTime, ValueError> {
    value.to_millis().map(DateTime::from_millis)
}

/// The value of a stored date.
///
/// # Errors
/// It is out of the range of the type, or not at midnight for a type of days.
pub(super) fn load<T: StoredDate>(stored: &DateTime) -> Result<T, ValueError> {
    T::from_millis(stored.timestamp_millis())
}

/// Reads a stored date.
#[inline]
pub(super) fn read(value: &Value<'_>) -> Result<DateTime, DecodeError> {
    DateTime::decode(value)
}

/// The error of a time that is out of the range of a BSON date.
#[cfg(any(feature = "jiff", feature = "time"))]
#[cold]
pub(super) fn too_far() -> ValueError {
    ValueError::new("the date is out of the range of a BSON date")
}

/// The error of a stored date that the type cannot represent.
#[cold]
pub(super) fn out_of_range(ty: &str) -> ValueError {
    ValueError::new(format!("the stored date is out of the range of `{ty}`"))
}

/// The milliseconds of a stored date that must be at midnight in UTC.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub(super) fn midnight(millis: i64, ty: &str) -> Result<i64, ValueError> {
    if millis.rem_euclid(DAY) == 0 {
        Ok(millis)
    } else {
        Err(ValueError::new(format!(
            "the stored date is not at midnight in UTC, so that it is not a `{ty}`"
        )))
    }
}
