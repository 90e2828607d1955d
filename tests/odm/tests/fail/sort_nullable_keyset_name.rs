use marula::prelude::*;
use marula::{Document, KeysetSort, SortNames};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    note: Option<String>,
}

fn main() {
    let o = Order::fields();
    let _ = SortNames::<KeysetSort<Order>>::new().allow("note", o.note().asc());
}
