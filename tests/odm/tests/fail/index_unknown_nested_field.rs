use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", index(address.citty))]
struct Order {
    _id: i64,
    address: Address,
}

fn main() {}
