use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients", index(age, name = "x", partial(value == "x")))]
struct Patient {
    _id: i64,
    age: i64,
    #[document(encrypted)]
    value: String,
}

fn main() {}
