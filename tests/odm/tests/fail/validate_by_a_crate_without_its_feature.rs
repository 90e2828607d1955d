use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", validate = garde, validate = validator)]
struct Person {
    _id: i64,
}

fn main() {}
