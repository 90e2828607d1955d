use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", timeseries(time = name))]
struct Reading {
    _id: i64,
    name: String,
}

fn main() {}
