use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted)]
    notes: String,
}

fn main() {}
