//! A reference is joined with the ids of its model only.

use marula::{Document, Pipeline, Ref, Shape};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "customers")]
struct Customer {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "items")]
struct Item {
    _id: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    customer: Ref<Customer>,
}

#[derive(Shape)]
struct WithItems {
    #[document(flatten)]
    order: Order,
    items: Vec<Item>,
}

fn main() {
    let _ = Pipeline::<Order>::new()
        .lookup::<WithItems>()
        .on(|o| o.customer(), |i| i._id());
}
