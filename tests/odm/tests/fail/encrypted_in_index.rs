use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients", index(value))]
struct Patient {
    _id: i64,
    #[document(encrypted)]
    value: String,
}

fn main() {}
