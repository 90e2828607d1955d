use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient<T> {
    _id: i64,
    #[document(encrypted)]
    value: T,
}

fn main() {}
