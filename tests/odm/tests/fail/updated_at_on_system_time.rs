use std::time::SystemTime;

use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(updated_at, opaque)]
    updated: SystemTime,
}

fn main() {}
