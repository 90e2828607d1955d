use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[document(json_schema)]
struct Line {
    sku: String,
}

fn main() {}
