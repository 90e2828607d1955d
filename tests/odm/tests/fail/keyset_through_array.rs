use marula::prelude::*;
use marula::{Collection, Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    qty: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    lines: Vec<Line>,
}

async fn page(orders: Collection<Order>) {
    let _ = orders.find_all().keyset(|o| o.lines().qty().asc(), None, 10).await;
}

fn main() {
    let _ = page;
}
