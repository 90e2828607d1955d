use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "films",
    vector_search_index(vector(title, dimensions = 3, similarity = "cosine"), filter(parts))
)]
struct Film {
    _id: i64,
    title: String,
    parts: marula::bson::Document,
}

fn main() {}
