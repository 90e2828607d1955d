use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
#[document(collection = "people", schema_version(1))]
struct Person {
    _id: i64,
}

fn main() {}
