use marula::{Collection, Document};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people")]
struct Person {
    _id: i64,
}

fn check(people: Collection<Person>) {
    let _ = people.migrate();
}

fn main() {}
