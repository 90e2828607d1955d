use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "films",
    vector_search_index(name = "a", vector(plot)),
    vector_search_index(name = "b", vector(plot, dimensions = 10_000, similarity = "manhattan")),
    vector_search_index(name = "c", filter(year))
)]
struct Film {
    _id: i64,
    plot: Vec<f32>,
    year: i32,
}

fn main() {}
