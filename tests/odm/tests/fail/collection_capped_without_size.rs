use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", capped(max = 10))]
struct Entry {
    _id: i64,
}

fn main() {}
