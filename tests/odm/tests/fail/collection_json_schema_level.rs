use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", json_schema(levl = "strict"), json_schema(action = "log"))]
struct Reading {
    _id: i64,
}

fn main() {}
