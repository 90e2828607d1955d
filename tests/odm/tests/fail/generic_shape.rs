use marula::Shape;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Shape)]
struct Totals<T> {
    total: T,
}

fn main() {}
