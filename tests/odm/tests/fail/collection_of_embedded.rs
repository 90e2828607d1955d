use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[document(collection = "orders")]
struct Order {
    sku: String,
}

fn main() {}
