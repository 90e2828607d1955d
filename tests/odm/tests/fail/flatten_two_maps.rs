use std::collections::{BTreeMap, HashMap};

use marula::Embedded;
use marula::bson::Bson;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Inner {
    name: String,
    #[serde(flatten)]
    rest: HashMap<String, Bson>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Outer {
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    more: BTreeMap<String, Bson>,
}

fn main() {}
