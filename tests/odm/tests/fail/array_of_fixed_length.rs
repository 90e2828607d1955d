use marula::prelude::*;
use marula::{Document, Model};

#[derive(Document)]
#[document(collection = "sides")]
struct Sides {
    _id: i64,
    pair: [i32; 2],
    content: Vec<u8>,
}

fn main() {
    let s = Sides::fields();
    let _ = s.pair().push(3);
    let _ = s.pair().pull(|n| n.gt(1));
    let _ = s.content().contains(3);
    let _ = s.content().push(3);
}
