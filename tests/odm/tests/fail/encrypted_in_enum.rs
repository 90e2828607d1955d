use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
enum Payment {
    Card {
        #[document(encrypted)]
        number: String,
    },
    Account(#[document(encrypted)] String),
}

#[derive(Serialize, Deserialize, Embedded)]
struct Number(#[document(encrypted)] String);

fn main() {}
