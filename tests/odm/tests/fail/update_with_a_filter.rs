use marula::prelude::*;
use marula::bson::DateTime;
use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
    qty: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    note: Option<String>,
    open: bool,
    lines: Vec<Line>,
    tags: Vec<String>,
    at: DateTime,
}

fn update(u: impl marula::IntoUpdate<Order>) -> marula::Update<Order> {
    u.into_update()
}

fn main() {
    let o = Order::fields();
    let _ = update(o._id().eq(1));
}
