//! `std::time::SystemTime`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::date;
use super::kinds::time_type;
use crate::bson::Bson;
use crate::error::ValueError;
use crate::form::Converted;

time_type!(SystemTime);

impl Converted for SystemTime {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        // Its `Serialize` and `Deserialize` have no form for an earlier time.
        let since = self
            .duration_since(UNIX_EPOCH)
            .map_err(|_| ValueError::new("a `SystemTime` before 1970 cannot be stored"))?;
        i64::try_from(since.as_millis())
            .map(date::stored)
            .map_err(|_| ValueError::new("the `SystemTime` is out of the range of a BSON date"))
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        let Some(millis) = date::millis(stored) else {
            return Ok(None);
        };
        let since = u64::try_from(millis).map_err(|_| date::out_of_range("SystemTime"))?;
        UNIX_EPOCH
            .checked_add(Duration::from_millis(since))
            .map(Some)
            .ok_or_else(|| date::out_of_range("SystemTime"))
    }
}
