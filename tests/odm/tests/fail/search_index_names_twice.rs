use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "films", search_index(dynamic), search_index(name = "default", token(title), token(title)))]
struct Film {
    _id: i64,
    title: String,
}

fn main() {}
