use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(text(title)), index(text(body)))]
struct Order {
    _id: i64,
    title: String,
    body: String,
}

fn main() {}
