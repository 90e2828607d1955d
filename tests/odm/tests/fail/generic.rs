use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order<T> {
    _id: i64,
    payload: T,
}

fn main() {}
