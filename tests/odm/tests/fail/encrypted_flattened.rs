use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Contact {
    phone: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[serde(flatten)]
    #[document(encrypted)]
    contact: Contact,
}

fn main() {}
