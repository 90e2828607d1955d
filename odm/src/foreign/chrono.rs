//! Dates of the crate `chrono`.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::date;
use super::kinds::{day_type, time_type};
use crate::bson::Bson;
use crate::error::ValueError;
use crate::form::Converted;

time_type!(DateTime<Utc>);
day_type!(NaiveDate);

impl Converted for DateTime<Utc> {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        Ok(date::stored(self.timestamp_millis()))
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        let Some(millis) = date::millis(stored) else {
            return Ok(None);
        };
        DateTime::from_timestamp_millis(millis)
            .map(Some)
            .ok_or_else(|| date::out_of_range("chrono::DateTime<Utc>"))
    }
}

impl Converted for NaiveDate {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        Ok(date::stored(
            self.and_time(NaiveTime::MIN).and_utc().timestamp_millis(),
        ))
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        const TYPE: &str = "chrono::NaiveDate";
        let Some(millis) = date::midnight(stored, TYPE)? else {
            return Ok(None);
        };
        DateTime::from_timestamp_millis(millis)
            .map(|at| Some(at.date_naive()))
            .ok_or_else(|| date::out_of_range(TYPE))
    }
}
