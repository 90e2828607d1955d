use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(hashed(tags)))]
struct Order {
    _id: i64,
    tags: Vec<String>,
}

fn main() {}
