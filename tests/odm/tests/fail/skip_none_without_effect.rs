use marula::{Document, Embedded};

#[derive(Embedded)]
struct Note(#[document(skip_none)] Option<String>);

#[derive(Document)]
#[document(collection = "users")]
struct User {
    _id: i64,
    #[document(skip_none)]
    name: String,
    #[document(skip_none)]
    #[serde(skip_serializing_if = "Option::is_some")]
    email: Option<String>,
    note: Note,
}

fn main() {}
