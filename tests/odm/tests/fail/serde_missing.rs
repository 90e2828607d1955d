use marula::Document;

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
}

fn main() {}
