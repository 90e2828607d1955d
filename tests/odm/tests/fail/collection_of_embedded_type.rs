use marula::{Database, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
}

fn lines(db: &Database) {
    let _ = db.collection::<Line>();
}

fn main() {
    let _ = lines;
}
