use marula::bson::DateTime;
use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders", soft_delete = at)]
struct Order {
    _id: i64,
    #[document(updated_at)]
    at: Option<DateTime>,
}

fn main() {}
