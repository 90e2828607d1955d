use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(name, uniqe))]
struct Order {
    _id: i64,
    name: String,
}

fn main() {}
