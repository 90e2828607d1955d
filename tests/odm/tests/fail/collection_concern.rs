use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "payments",
    read_concern = "majorty",
    write_concern = 0,
    read_preference = "secondaryPreferred"
)]
struct Payment {
    _id: i64,
}

fn main() {}
