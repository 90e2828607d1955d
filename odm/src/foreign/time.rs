//! Dates of the crate `time`.

use time::{Date, OffsetDateTime, Time};

use super::date;
use super::kinds::{day_type, time_type};
use crate::bson::Bson;
use crate::error::ValueError;
use crate::form::Converted;

time_type!(OffsetDateTime);
day_type!(Date);

const NANOS_PER_MILLI: i128 = 1_000_000;

fn millis(at: OffsetDateTime) -> Result<Bson, ValueError> {
    i64::try_from(at.unix_timestamp_nanos().div_euclid(NANOS_PER_MILLI))
        .map(date::stored)
        .map_err(|_| ValueError::new("the date is out of the range of a BSON date"))
}

fn from_millis(millis: i64, ty: &str) -> Result<OffsetDateTime, ValueError> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * NANOS_PER_MILLI)
        .map_err(|_| date::out_of_range(ty))
}

impl Converted for OffsetDateTime {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        millis(*self)
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        let Some(millis) = date::millis(stored) else {
            return Ok(None);
        };
        from_millis(millis, "time::OffsetDateTime").map(Some)
    }
}

impl Converted for Date {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        millis(self.with_time(Time::MIDNIGHT).assume_utc())
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        const TYPE: &str = "time::Date";
        let Some(millis) = date::midnight(stored, TYPE)? else {
            return Ok(None);
        };
        from_millis(millis, TYPE).map(|at| Some(at.date()))
    }
}
