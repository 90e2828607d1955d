use marula::expr::*;
use marula::{Document, Embedded, Pipeline, Shape};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "customers")]
struct Customer {
    _id: String,
    tier: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "refunds")]
struct Refund {
    _id: i64,
    amount: i64,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    price: i64,
}

#[derive(Serialize, Deserialize, Embedded)]
enum Status {
    Open,
    Paid,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    customer: String,
    status: Status,
    total: i64,
    discount: Option<i32>,
    address: Option<Address>,
    lines: Vec<Line>,
}

#[derive(Serialize, Deserialize, Shape)]
struct Totals {
    #[serde(rename = "_id")]
    customer: String,
    revenue: i64,
    average: f64,
}

#[derive(Serialize, Deserialize, Shape)]
struct Grand {
    revenue: i64,
    largest: i64,
}

fn main() {
    let orders = Pipeline::<Order>::new();
    let _ = orders.group_all(|o| GrandGroup {
        revenue: sum(o.lines().price()),
        largest: max(o.total()),
    });
}
