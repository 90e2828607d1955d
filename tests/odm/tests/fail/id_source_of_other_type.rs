use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    #[document(id = uuid_v7)]
    _id: String,
}

fn main() {}
