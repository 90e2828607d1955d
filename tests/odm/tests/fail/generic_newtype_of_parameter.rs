use marula::prelude::*;
use marula::{Document, Embedded};

#[derive(Embedded)]
struct Wrapper<T>(T);

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    total: Wrapper<i64>,
}

fn main() {
    let o = Order::fields();
    let _ = o.total().eq(Wrapper(1));
    let _ = (*o.total()).eq(1);
    let _ = o.total().eq(1);
}
