use marula::{Document, Model};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "events")]
struct Envelope<T> {
    _id: i64,
    payload: T,
}

fn sync<D: Model>() {}

fn main() {
    sync::<Envelope<std::path::PathBuf>>();
}
