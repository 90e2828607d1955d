use marula::{Document, Hooks};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", hooks)]
struct Order {
    _id: i64,
}

impl Hooks for Order {}

fn main() {}
