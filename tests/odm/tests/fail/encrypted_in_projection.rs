use marula::{Document, Projection};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted)]
    notes: String,
}

#[derive(Serialize, Deserialize, Projection)]
#[document(of = Patient)]
struct Summary {
    _id: i64,
    #[document(encrypted)]
    notes: String,
}

fn main() {}
