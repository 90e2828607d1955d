use marula::Document;

#[derive(Document)]
#[document(collection = "users", opaque)]
struct User {
    _id: i64,
}

fn main() {}
