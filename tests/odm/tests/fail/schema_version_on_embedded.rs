use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[document(schema_version(1))]
struct Address {
    city: String,
}

fn main() {}
