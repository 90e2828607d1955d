//! Dates of the crate `jiff`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use super::date;
use super::kinds::{day_type, time_type};
use crate::bson::Bson;
use crate::error::ValueError;
use crate::form::Converted;

time_type!(Timestamp);
day_type!(Date);

const NANOS_PER_MILLI: i128 = 1_000_000;

fn millis(at: Timestamp) -> Result<Bson, ValueError> {
    i64::try_from(at.as_nanosecond().div_euclid(NANOS_PER_MILLI))
        .map(date::stored)
        .map_err(|_| ValueError::new("the date is out of the range of a BSON date"))
}

impl Converted for Timestamp {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        millis(*self)
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        let Some(millis) = date::millis(stored) else {
            return Ok(None);
        };
        Timestamp::from_millisecond(millis)
            .map(Some)
            .map_err(|_| date::out_of_range("jiff::Timestamp"))
    }
}

impl Converted for Date {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        let midnight = Offset::UTC.to_timestamp(self.at(0, 0, 0, 0));
        millis(midnight.map_err(|_| {
            ValueError::new("the date is out of the range of `jiff::Timestamp`, in which it is stored")
        })?)
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        const TYPE: &str = "jiff::civil::Date";
        let Some(millis) = date::midnight(stored, TYPE)? else {
            return Ok(None);
        };
        let at = Timestamp::from_millisecond(millis).map_err(|_| date::out_of_range(TYPE))?;
        Ok(Some(Offset::UTC.to_datetime(at).date()))
    }
}
