use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Place {
    city: String,
    zip: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Birth {
    #[serde(alias = "city")]
    town: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Person {
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    birth: Birth,
}

fn main() {}
