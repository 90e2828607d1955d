use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "films", search_index(number(title), string(year), document(title)))]
struct Film {
    _id: i64,
    title: String,
    year: i32,
}

fn main() {}
