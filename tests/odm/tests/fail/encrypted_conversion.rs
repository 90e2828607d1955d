use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
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

fn main() {}
