use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", validate = check)]
struct Order {
    _id: i64,
}

fn check(order: &Order) -> bool {
    order._id > 0
}

fn main() {}
