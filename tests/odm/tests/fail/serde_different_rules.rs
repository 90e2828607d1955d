use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
#[serde(rename_all(serialize = "camelCase"))]
struct Order {
    #[serde(rename = "_id")]
    id: i64,
    note: String,
}

fn main() {}
