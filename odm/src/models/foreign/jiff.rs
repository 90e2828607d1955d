//! Dates of the crate `jiff`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use super::date::{self, StoredDate};
use super::kinds::{day_type, text_form, time_type};
use crate::base::error::ValueError;

time_type!(Timestamp);
text_form!(Timestamp);
day_type!(Date);
text_form!(Date);

const NANOS_PER_MILLI: i128 = 1_000_000;

impl StoredDate for Timestamp {
    fn to_millis(&self) -> Result<i64, ValueError> {
        i64::try_from(self.as_nanosecond().div_euclid(NANOS_PER_MILLI)).map_err(|_| date::too_far())
    }

    fn from_millis(millis: i64) -> Result<Self, ValueError> {
        Timestamp::from_millisecond(millis).map_err(|_| date::out_of_range("jiff::Timestamp"))
    }
}

impl StoredDate for Date {
    fn to_millis(&self) -> Result<i64, ValueError> {
        let midnight = Offset::UTC.to_timestamp(self.at(0, 0, 0, 0)).map_err(|_| {
            ValueError::new("the date is out of the range of `jiff::Timestamp`, in which it is stored")
        })?;
        midnight.to_millis()
    }

    fn from_millis(millis: i64) -> Result<Self, ValueError> {
        const TYPE: &str = "jiff::civil::Date";
        let at = Timestamp::from_millisecond(date::midnight(millis, TYPE)?);
        let at = at.map_err(|_| date::out_of_range(TYPE))?;
        Ok(Offset::UTC.to_datetime(at).date())
    }
}
