use marula::prelude::*;
use marula::{Collection, Document, Sort};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    note: Option<String>,
}

async fn page(orders: Collection<Order>) {
    let keys: Vec<Sort<Order>> = vec![Order::fields().note().asc().erased()];
    let _ = orders.find_all().keyset(|_| keys, None, 10).await;
}

fn main() {
    let _ = page;
}
