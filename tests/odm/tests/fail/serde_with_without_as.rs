use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

mod seconds {
    use marula::bson::DateTime;

    pub fn serialize<S: serde::Serializer>(date: &DateTime, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_i64(date.timestamp_millis() / 1000)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(d: D) -> Result<DateTime, D::Error> {
        <i64 as serde::Deserialize>::deserialize(d).map(DateTime::from_millis)
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[serde(with = "seconds")]
    at: DateTime,
}

fn main() {}
