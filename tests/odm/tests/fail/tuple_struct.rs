use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Range(i32, i32);

fn main() {}
