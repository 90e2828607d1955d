use marula::Shape;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Shape)]
enum Status {
    Open,
    Paid,
}

fn main() {}
