use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", schema_version(2))]
struct Person {
    _id: i64,
}

fn main() {}
