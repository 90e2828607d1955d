use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(name, partial(note == null)))]
struct Order {
    _id: i64,
    name: String,
    note: Option<String>,
}

fn main() {}
