use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, Embedded)]
struct Stored(String);

impl From<Address> for Stored {
    fn from(address: Address) -> Self {
        Stored(address.street)
    }
}

impl From<Stored> for Address {
    fn from(stored: Stored) -> Self {
        Address { street: stored.0 }
    }
}

#[derive(Clone, Serialize, Deserialize, Embedded)]
#[serde(from = "Stored", into = "Stored")]
struct Address {
    #[document(encrypted)]
    street: String,
}

impl From<Either> for Stored {
    fn from(either: Either) -> Self {
        let Either::At { street } = either;
        Stored(street)
    }
}

impl From<Stored> for Either {
    fn from(stored: Stored) -> Self {
        Either::At { street: stored.0 }
    }
}

#[derive(Clone, Serialize, Deserialize, Embedded)]
#[serde(from = "Stored", into = "Stored")]
enum Either {
    At {
        #[document(encrypted)]
        street: String,
    },
}

fn main() {}
