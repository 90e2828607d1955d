use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    #[document(encrypted)]
    _id: i64,
}

fn main() {}
