use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[document(hooks)]
struct Line {
    qty: i32,
}

fn main() {}
