use marula::{Document, Embedded, Insert};

#[derive(Embedded)]
struct Address {
    city: String,
}

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    total: i64,
    note: Option<String>,
    tags: Vec<String>,
    address: Address,
    lines: Vec<Address>,
    #[document(version)]
    revision: i64,
    #[document(updated_at)]
    updated_at: marula::bson::DateTime,
}

#[derive(Insert)]
#[document(of = Order)]
struct NewOrder {
    _id: i64,
    total: i64,
    tags: Vec<String>,
    #[document(path = address.city)]
    city: String,
    lines: Vec<Address>,
}

fn main() {}
