use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", shard_key(tags, lines.sku))]
struct Order {
    _id: i64,
    tags: Vec<String>,
    lines: Vec<Line>,
}

fn main() {}
