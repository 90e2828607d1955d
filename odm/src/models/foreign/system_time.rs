//! `std::time::SystemTime`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::date::{self, StoredDate};
use super::kinds::time_type;
use crate::base::error::ValueError;

time_type!(SystemTime);

impl StoredDate for SystemTime {
    fn to_millis(&self) -> Result<i64, ValueError> {
        // Its `Serialize` and `Deserialize` have no form for an earlier time.
        let since = self
            .duration_since(UNIX_EPOCH)
            .map_err(|_| ValueError::new("a `SystemTime` before 1970 cannot be stored"))?;
        i64::try_from(since.as_millis())
            .map_err(|_| ValueError::new("the `SystemTime` is out of the range of a BSON date"))
    }

    fn from_millis(millis: i64) -> Result<Self, ValueError> {
        let since = u64::try_from(millis).map_err(|_| date::out_of_range("SystemTime"))?;
        UNIX_EPOCH
            .checked_add(Duration::from_millis(since))
            .ok_or_else(|| date::out_of_range("SystemTime"))
    }
}
