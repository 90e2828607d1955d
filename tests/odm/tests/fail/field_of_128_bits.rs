use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "transfers")]
struct Transfer {
    _id: i64,
    amount: i128,
}

fn main() {}
