use marula::Document;
use marula::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    tags: Vec<String>,
}

fn main() {
    let _ = Order::fields().tags().eq("vip");
}
