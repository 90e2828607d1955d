use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    #[document(encrypted)]
    street: String,
}

#[derive(Serialize, Deserialize, Embedded)]
#[document(opaque)]
struct Home {
    address: Address,
}

#[derive(Serialize, Deserialize, Embedded)]
#[document(opaque)]
struct Pair<A>(A, i32);

#[derive(Embedded)]
#[document(opaque)]
struct Blob {
    bytes: String,
}

#[derive(Embedded)]
#[document(skip_none)]
struct Text(Option<String>);

#[derive(Document)]
#[document(collection = "patients", index(clinic, number, unique, sparse))]
struct Patient {
    _id: i64,
    clinic: i64,
    number: Option<i64>,
    home: Home,
    pair: Pair<Address>,
}

fn main() {}
