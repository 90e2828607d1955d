use marula::bson::DateTime;
use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(soft_delete)]
    deleted_at: Option<DateTime>,
}

fn main() {}
