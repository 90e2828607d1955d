use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Card {
    #[document(encrypted(equality))]
    number: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", shard_key(ssn, card.number))]
struct Person {
    _id: i64,
    #[document(encrypted(equality))]
    ssn: String,
    card: Card,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "customers", shard_key(card.number))]
struct Customer {
    _id: i64,
    card: Card,
}

fn main() {}
