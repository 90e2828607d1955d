use marula::Document;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

type Time = std::time::SystemTime;

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(opaque)]
    created: Time,
    #[document(as = Option<DateTime>)]
    paid: Option<Time>,
    #[document(as = String)]
    text: Time,
}

fn main() {}
