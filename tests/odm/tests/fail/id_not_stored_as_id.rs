use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    #[document(id)]
    id: i64,
}

fn main() {}
