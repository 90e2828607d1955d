use marula::prelude::*;
use marula::{Document, Embedded, KeysetSort};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people")]
struct Person {
    _id: i64,
    address: Option<Address>,
}

fn main() {
    let p = Person::fields();
    let _: KeysetSort<Person> = p.address().city().asc().erased_keyset();
}
