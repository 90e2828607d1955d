use marula::prelude::*;
use marula::{Collection, Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Card { last4: String },
    Cash,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    payment: Option<Payment>,
    scores: Vec<i32>,
}

async fn pages(orders: Collection<Order>) {
    let _ = orders.find_all().keyset(|o| o.payment().card().last4().asc(), None, 10).await;
    let _ = orders.find_all().keyset(|o| o.scores().nth(0).asc(), None, 10).await;
}

fn main() {
    let _ = pages;
}
