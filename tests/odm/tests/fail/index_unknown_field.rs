use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(custmer, -at))]
struct Order {
    _id: i64,
    customer: i64,
    at: DateTime,
}

fn main() {}
