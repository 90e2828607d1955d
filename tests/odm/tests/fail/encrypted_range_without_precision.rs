use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted(range(min = 0.0, max = 9.0)))]
    value: f64,
}

fn main() {}
