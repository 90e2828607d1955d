use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", schema_version(0, upgrade = upgrade))]
struct Person {
    _id: i64,
}

fn main() {}
