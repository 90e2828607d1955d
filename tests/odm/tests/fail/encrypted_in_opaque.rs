use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    #[document(encrypted)]
    street: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Place {
    street: String,
}

#[derive(Serialize, Deserialize)]
struct Wrapper<T>(T);

type Shared = Mutex<Address>;
type ByFloor = BTreeMap<i32, Address>;
type Nested = Vec<Mutex<Address>>;

mod city {
    use super::Address;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(address: &Address, serializer: S) -> Result<S::Ok, S::Error> {
        address.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
        Address::deserialize(deserializer)
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(opaque)]
    direct: Address,
    #[document(opaque)]
    boxed: Box<Address>,
    #[document(opaque)]
    mutex: Mutex<Address>,
    #[document(opaque)]
    by_number: HashMap<u32, Address>,
    #[document(opaque)]
    wrapped: Option<Wrapper<(Address, i32)>>,
    #[document(opaque)]
    shared: Shared,
    #[document(opaque)]
    by_floor: ByFloor,
    #[document(opaque)]
    all: Vec<Address>,
    #[document(as = Place)]
    place: Address,
    #[document(as = String)]
    text: Address,
    #[serde(with = "city")]
    #[document(as = marula::bson::Document)]
    city: Address,
    #[document(opaque)]
    nested: Nested,
}

fn main() {}
