use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people", schema_version(2, upgrade = Person::upgrade))]
struct Person {
    _id: i64,
}

impl Person {
    fn upgrade(self) -> Self {
        self
    }
}

fn main() {}
