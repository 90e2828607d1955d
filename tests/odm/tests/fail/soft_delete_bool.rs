use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", soft_delete = deleted)]
struct Order {
    _id: i64,
    deleted: bool,
}

fn main() {}
