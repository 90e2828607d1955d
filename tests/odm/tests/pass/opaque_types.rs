//! Types that `opaque` accepts: types other than dates, and dates with an explicit stored type.

use marula::prelude::*;
use marula::{Document, forms};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct NaiveDate(String);

impl std::fmt::Display for NaiveDate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for NaiveDate {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(NaiveDate(text.to_owned()))
    }
}

mod as_days {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(_: &super::NaiveDate, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<super::NaiveDate, D::Error> {
        i32::deserialize(deserializer).map(|days| super::NaiveDate(days.to_string()))
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(opaque)]
    address: std::net::IpAddr,
    #[document(opaque)]
    took: std::time::Duration,
    #[document(opaque)]
    at: marula::bson::DateTime,
    #[document(as = forms::DisplayText)]
    day: NaiveDate,
    #[serde(with = "as_days")]
    #[document(opaque)]
    days: NaiveDate,
}

#[test]
fn filters() {
    let o = Order::fields();
    let _ = o.day().starts_with("2026") & o.address().exists();
}
