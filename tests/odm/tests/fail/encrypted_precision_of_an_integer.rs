use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted(range(min = 0, max = 9, precision = 2)))]
    value: i32,
}

fn main() {}
