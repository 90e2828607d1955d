use marula::{Document, Pipeline, Shape};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "customers")]
struct Customer {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    customer: i64,
}

#[derive(Shape)]
struct WithCustomer {
    #[document(flatten)]
    order: Order,
    customers: Vec<Customer>,
}

fn main() {
    let _ = Pipeline::<Order>::new()
        .lookup::<WithCustomer>()
        .with_deleted()
        .on(|o| o.customer(), |c| c._id());
    let _ = Pipeline::<Order>::new().union_with::<Order>(|o| o.only_deleted());
}
