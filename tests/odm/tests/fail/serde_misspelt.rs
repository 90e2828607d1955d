use marula::{Document, Embedded};

#[derive(Document)]
#[serde(rename_all = "camelcase")]
#[document(collection = "people")]
struct Person {
    #[serde(renam = "_id")]
    _id: i64,
    #[serde(skip_serialising)]
    password: String,
    #[serde(default = no_text)]
    note: String,
}

#[derive(Embedded)]
enum Login {
    Password(#[serde(skip_serializing, default)] String),
}

fn main() {}
