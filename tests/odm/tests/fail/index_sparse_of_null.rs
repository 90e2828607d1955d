use marula::Document;

#[derive(Document)]
#[document(collection = "users", index(email, unique, sparse))]
struct User {
    _id: i64,
    email: Option<String>,
}

fn main() {}
