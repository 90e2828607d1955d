use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
#[serde(rename_all = "camelCase")]
struct Order {
    _id: i64,
    note: String,
}

fn main() {}
