use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(name))]
struct Order {
    _id: i64,
    #[document(unique)]
    name: String,
}

fn main() {}
