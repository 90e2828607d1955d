use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "films",
    search_index(name = "a", title),
    search_index(name = "b", dinamic),
    search_index(name = "c", string(title, analyser = "lucene.english"))
)]
struct Film {
    _id: i64,
    title: String,
}

fn main() {}
