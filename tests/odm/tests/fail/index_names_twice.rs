use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(name, name = "a"), index(at, name = "a"))]
struct Order {
    _id: i64,
    name: String,
    at: DateTime,
}

fn main() {}
