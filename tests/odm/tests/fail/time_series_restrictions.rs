use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "readings",
    timeseries(time = at, meta = at),
    soft_delete = deleted_at,
    index(unique, value),
    index(text(note)),
    index(at, ttl = "1h"),
    index(hashed(value)),
    index(value, note, sparse)
)]
struct Reading {
    _id: i64,
    at: DateTime,
    value: f64,
    note: String,
    #[document(unique)]
    serial: i64,
    #[document(version)]
    version: i64,
    #[document(updated_at)]
    updated_at: DateTime,
    deleted_at: Option<DateTime>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "secrets", capped(size = 4096))]
struct Secret {
    _id: i64,
    #[document(encrypted)]
    text: String,
}

fn main() {}
