use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", capped(size = 4096), timeseries(time = at))]
struct Reading {
    _id: i64,
    at: marula::bson::DateTime,
}

fn main() {}
