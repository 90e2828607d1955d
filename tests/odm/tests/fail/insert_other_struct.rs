use marula::{Document, Embedded};

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

struct NewOrder {
    total: i64,
}

async fn insert(orders: marula::Collection<Order>, new: NewOrder) -> marula::Result<Order> {
    orders.insert(new).await
}

fn main() {}
