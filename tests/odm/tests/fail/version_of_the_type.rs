use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", version = version)]
struct Order {
    _id: i64,
    version: i64,
}

fn main() {}
