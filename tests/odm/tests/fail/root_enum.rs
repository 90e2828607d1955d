use marula::Document;

#[derive(Document)]
#[document(collection = "orders")]
enum Order {
    Open { _id: i64 },
}

fn main() {}
