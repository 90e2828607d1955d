use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(name, collation(strength = 2)))]
struct Order {
    _id: i64,
    name: String,
}

fn main() {}
