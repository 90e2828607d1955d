use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", timeseries(time = att, granularity = "days"))]
struct Reading {
    _id: i64,
    at: marula::bson::DateTime,
}

fn main() {}
