use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    #[document(id = uuid7)]
    _id: uuid::Uuid,
}

fn main() {}
