use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(at, tll = "1d"))]
struct Order {
    _id: i64,
    at: DateTime,
}

fn main() {}
