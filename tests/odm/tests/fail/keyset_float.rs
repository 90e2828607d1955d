use marula::prelude::*;
use marula::{Collection, Document};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    rating: Option<f64>,
}

async fn page(orders: Collection<Order>) {
    let _ = orders.find_all().keyset(|o| o.rating().asc(), None, 10).await;
}

fn main() {
    let _ = page;
}
