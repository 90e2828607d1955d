use marula::Embedded;
use marula::bson::DateTime;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[document(soft_delete = deleted_at)]
struct Line {
    deleted_at: Option<DateTime>,
}

fn main() {}
