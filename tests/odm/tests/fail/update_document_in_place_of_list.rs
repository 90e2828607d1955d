use marula::bson::doc;
use marula::prelude::*;
use marula::{Collection, Document, Update};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
}

fn pipeline() -> Update<Order> {
    Update::pipeline(doc! { "$set": { "a": 1 } })
}

fn array_filters(orders: &Collection<Order>) {
    let update = Update::raw(doc! { "$set": { "a.$[e]": 1 } });
    let _ = orders
        .update_one(|o| o._id().eq(1), |_| update)
        .raw_array_filters(doc! { "e": 1 });
}

fn main() {}
