use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "films", search_index(string(titel)))]
struct Film {
    _id: i64,
    title: String,
}

fn main() {}
