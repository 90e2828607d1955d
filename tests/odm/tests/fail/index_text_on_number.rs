use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(text(qty)))]
struct Order {
    _id: i64,
    qty: i32,
}

fn main() {}
