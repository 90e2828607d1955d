//! Dates of the crate `time`.

use time::{Date, OffsetDateTime, Time};

use super::date::{self, StoredDate};
use super::kinds::{day_type, text_form, time_type};
use crate::base::error::ValueError;

time_type!(OffsetDateTime);
text_form!(OffsetDateTime);
day_type!(Date);
text_form!(Date);

const NANOS_PER_MILLI: i128 = 1_000_000;

fn from_millis(millis: i64, ty: &str) -> Result<OffsetDateTime, ValueError> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * NANOS_PER_MILLI)
        .map_err(|_| date::out_of_range(ty))
}

impl StoredDate for OffsetDateTime {
    fn to_millis(&self) -> Result<i64, ValueError> {
        i64::try_from(self.unix_timestamp_nanos().div_euclid(NANOS_PER_MILLI)).map_err(|_| date::too_far())
    }

    fn from_millis(millis: i64) -> Result<Self, ValueError> {
        from_millis(millis, "time::OffsetDateTime")
    }
}

impl StoredDate for Date {
    fn to_millis(&self) -> Result<i64, ValueError> {
        self.with_time(Time::MIDNIGHT).assume_utc().to_millis()
    }

    fn from_millis(millis: i64) -> Result<Self, ValueError> {
        const TYPE: &str = "time::Date";
        from_millis(date::midnight(millis, TYPE)?, TYPE).map(OffsetDateTime::date)
    }
}
