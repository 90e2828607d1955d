use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(version)]
    version: i64,
    #[document(version)]
    revision: i64,
}

fn main() {}
