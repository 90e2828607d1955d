use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", shard_key(country), index(email, country, unique), index(country, email, unique))]
struct Person {
    _id: i64,
    country: String,
    email: String,
    #[document(unique)]
    number: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", shard_key(hashed(user)), index(user, page, unique))]
struct Visit {
    _id: i64,
    user: i64,
    page: Address,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    path: String,
}

fn main() {}
