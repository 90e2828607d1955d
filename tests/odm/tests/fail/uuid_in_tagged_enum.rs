use marula::Embedded;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Invoice { number: Option<Uuid> },
    Card(Card),
}

#[derive(Serialize, Deserialize, Embedded)]
struct Card {
    id: Uuid,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Order {
    #[serde(flatten)]
    card: Card,
}

fn main() {}
