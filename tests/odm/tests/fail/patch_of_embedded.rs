use marula::{Document, Embedded, Patch};

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

#[derive(Patch)]
#[document(of = Address)]
struct AddressPatch {
    city: Option<String>,
}

fn main() {}
