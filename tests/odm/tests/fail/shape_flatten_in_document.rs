use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Inner {
    a: i32,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Outer {
    #[document(flatten)]
    inner: Inner,
}

fn main() {}
