use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(cache))]
struct Order {
    _id: i64,
    #[serde(skip)]
    cache: i64,
}

fn main() {}
