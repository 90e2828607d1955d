use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", validate = chekc)]
struct Order {
    _id: i64,
}

fn main() {}
