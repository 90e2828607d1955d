use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
enum Change<T> {
    To(T),
    None,
}

fn main() {}
