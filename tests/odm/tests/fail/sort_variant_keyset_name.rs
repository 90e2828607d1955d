use marula::prelude::*;
use marula::{Document, Embedded, KeysetSort, SortNames};
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
    payment: Payment,
    tags: Vec<String>,
}

fn main() {
    let o = Order::fields();
    let _: KeysetSort<Order> = o.payment().card().last4().asc().erased_keyset();
    let _ = SortNames::<KeysetSort<Order>>::new().allow("tags", o.tags().asc());
}
