use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
struct Order {
    _id: i64,
}

fn main() {}
