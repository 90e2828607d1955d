use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    country: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", shard_key(nmae))]
struct Person {
    _id: i64,
    name: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "customers", shard_key(address.contry))]
struct Customer {
    _id: i64,
    address: Address,
}

fn main() {}
