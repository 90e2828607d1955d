use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
enum Order {
    Open { _id: i64 },
}

fn main() {}
