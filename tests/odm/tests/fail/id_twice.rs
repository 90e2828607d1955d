use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    #[document(id)]
    _id: i64,
    #[document(id)]
    number: i64,
}

fn main() {}
