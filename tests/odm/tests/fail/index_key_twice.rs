use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(at, -at))]
struct Order {
    _id: i64,
    at: DateTime,
}

fn main() {}
