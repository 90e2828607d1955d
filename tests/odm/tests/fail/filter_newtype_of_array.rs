use marula::prelude::*;
use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Tags(Vec<String>);

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    tags: Tags,
}

fn main() {
    let o = Order::fields();
    let _ = (*o.tags()).contains("a");
    let _ = o.tags().contains("a");
}
