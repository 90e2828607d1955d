use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", soft_delete = _id)]
struct Order {
    _id: i64,
}

fn main() {}
