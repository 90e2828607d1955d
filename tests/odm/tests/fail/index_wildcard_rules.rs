use marula::Document;
use marula::bson;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "pages",
    index(wildcard, site),
    index(wildcard(fields), wildcard(tags)),
    index(wildcard(fields), sparse, name = "sparse"),
    index(fields, wildcard(fields))
)]
struct Page {
    _id: i64,
    site: String,
    fields: bson::Document,
    tags: bson::Document,
}

fn main() {}
