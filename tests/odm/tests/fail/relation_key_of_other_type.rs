use marula::{Collection, Document, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "customers")]
struct Customer {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "products")]
struct Product {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    product: Ref<Product>,
    note: String,
}

fn load(orders: &[Order], customers: &Collection<Customer>) {
    let _ = customers.load(orders.iter().map(|o| &o.product));
    let _ = customers.load(orders.iter().map(|o| &o.note));
}

fn main() {
    let _ = load;
}
