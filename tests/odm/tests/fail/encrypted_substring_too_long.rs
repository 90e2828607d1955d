use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted(substring(max_length = 5, min = 2, max = 9)))]
    value: String,
}

fn main() {}
