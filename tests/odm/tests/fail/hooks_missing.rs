use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, Document)]
#[document(collection = "orders", hooks)]
struct Order {
    _id: i64,
}

fn main() {}
