use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted, opaque)]
    value: String,
}

fn main() {}
