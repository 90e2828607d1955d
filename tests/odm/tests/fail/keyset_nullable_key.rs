use marula::prelude::*;
use marula::{Collection, Document};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    note: Option<String>,
}

async fn page(orders: Collection<Order>) {
    let _ = orders.find_all().keyset(|o| o.note().asc(), None, 10).await;
}

fn main() {
    let _ = page;
}
