use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "readings",
    timeseries(time = at, meta = sensor),
    index(wildcard),
    index(seen, ttl = "1h", partial(sensor > 5)),
    index(sensor, collation(locale = "en"), partial(sensor > 5))
)]
struct Reading {
    _id: i64,
    at: DateTime,
    seen: DateTime,
    sensor: i32,
}

fn main() {}
