use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(attrs))]
struct Order {
    _id: i64,
    attrs: std::collections::HashMap<String, i32>,
}

fn main() {}
