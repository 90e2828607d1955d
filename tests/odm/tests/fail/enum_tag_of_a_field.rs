use marula::{Document, Embedded};

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Card { kind: String },
    Cash,
}

#[derive(Document)]
#[serde(tag = "_id")]
#[document(collection = "orders")]
enum Order {
    Open { _id: i64 },
}

fn main() {}
