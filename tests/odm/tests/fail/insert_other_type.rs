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
    total: Option<i64>,
    tgas: Vec<String>,
    address: Address,
    lines: Vec<Address>,
}

fn main() {}
