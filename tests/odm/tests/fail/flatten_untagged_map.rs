use std::collections::HashMap;

use marula::Embedded;
use marula::bson::Bson;

#[derive(Embedded)]
#[serde(untagged)]
enum More {
    Known { a: i32 },
    Other(HashMap<String, Bson>),
}

#[derive(Embedded)]
struct Outer {
    id: i64,
    #[serde(flatten)]
    more: More,
}

fn main() {}
