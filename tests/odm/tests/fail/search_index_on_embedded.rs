use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[document(search_index(dynamic))]
struct Studio {
    name: String,
}

fn main() {}
