//! Dates of the crate `chrono`.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::date::{self, StoredDate};
use super::kinds::{day_type, text_form, time_type};
use crate::base::error::ValueError;

time_type!(DateTime<Utc>);
text_form!(DateTime<Utc>);
day_type!(NaiveDate);
text_form!(NaiveDate);

impl StoredDate for DateTime<Utc> {
    #[inline]
    fn to_millis(&self) -> Result<i64, ValueError> {
        Ok(self.timestamp_millis())
    }

    fn from_millis(millis: i64) -> Result<Self, ValueError> {
        DateTime::from_timestamp_millis(millis).ok_or_else(|| date::out_of_range("chrono::DateTime<Utc>"))
    }
}

impl StoredDate for NaiveDate {
    fn to_millis(&self) -> Result<i64, ValueError> {
        Ok(self.and_time(NaiveTime::MIN).and_utc().timestamp_millis())
    }

    fn from_millis(millis: i64) -> Result<Self, ValueError> {
        const TYPE: &str = "chrono::NaiveDate";
        DateTime::from_timestamp_millis(date::midnight(millis, TYPE)?)
            .map(|at| at.date_naive())
            .ok_or_else(|| date::out_of_range(TYPE))
    }
}
