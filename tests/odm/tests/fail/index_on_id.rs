use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", index(id, unique), index(-id, sparse), index(hashed(id)))]
struct Person {
    #[serde(rename = "_id")]
    id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "pets")]
struct Pet {
    #[document(unique)]
    _id: i64,
}

fn main() {}
