use std::collections::HashMap;

use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Contact {
    #[document(encrypted)]
    phone: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    contacts: Vec<Contact>,
    relatives: Option<HashMap<String, Contact>>,
}

fn main() {}
