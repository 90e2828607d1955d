use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", validate = check)]
struct Order {
    _id: i64,
}

fn check(number: &i64) -> Result<(), String> {
    Err(number.to_string())
}

fn main() {}
