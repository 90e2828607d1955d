use marula::{Document, Embedded, Projection};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
}

#[derive(Serialize, Deserialize, Embedded)]
enum Status {
    Open,
    Paid,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    customer: String,
    status: Status,
    total: i64,
    discount: Option<i32>,
    address: Option<Address>,
}

#[derive(Serialize, Deserialize, Projection)]
struct Summary {
    total: i64,
}

fn main() {}
