use std::collections::BTreeMap;

use marula::{Document, Embedded};

#[derive(PartialEq, Eq, PartialOrd, Ord, Embedded)]
enum Level {
    Low,
    #[serde(skip)]
    Unknown,
}

#[derive(Document)]
#[document(collection = "counts")]
struct Counts {
    _id: i64,
    by_level: BTreeMap<Level, i64>,
}

fn main() {}
