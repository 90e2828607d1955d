use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted(contention = 4))]
    value: i32,
}

fn main() {}
