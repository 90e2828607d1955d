use marula::bson::DateTime;
use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(created_at, updated_at)]
    at: DateTime,
}

fn main() {}
