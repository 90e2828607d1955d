use marula::Document;

#[derive(Document)]
#[serde(tag = "kind", content = "content")]
#[document(collection = "orders")]
enum Order {
    Open { _id: i64 },
    Closed { _id: i64 },
}

fn main() {}
