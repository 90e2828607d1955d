use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
    qty: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(tags, lines.sku))]
struct Order {
    _id: i64,
    tags: Vec<String>,
    lines: Option<Vec<Line>>,
}

fn main() {}
