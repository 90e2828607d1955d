use marula::bson::DateTime;
use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", soft_delete = deleted_at, soft_delete = deleted_at)]
struct Order {
    _id: i64,
    deleted_at: Option<DateTime>,
}

fn main() {}
