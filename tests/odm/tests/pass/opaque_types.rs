//! What `opaque` takes: types that are no dates, and dates that say how they are stored.

use marula::Document;
use marula::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct NaiveDate(String);

mod as_days {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(_: &super::NaiveDate, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(0)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<super::NaiveDate, D::Error> {
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
    #[document(as = String)]
    day: NaiveDate,
    #[serde(with = "as_days")]
    #[document(opaque)]
    days: NaiveDate,
}

fn main() {
    let o = Order::fields();
    let _ = o.day().starts_with("2026") & o.address().exists();
}
