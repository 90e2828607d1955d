use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line<'a> {
    sku: &'a str,
}

fn main() {}
