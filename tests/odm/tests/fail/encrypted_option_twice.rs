use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted(equality, contention = 4, contention = 8))]
    ssn: String,
    #[document(encrypted(range(min = 0, max = 200, sparsity = 1, sparsity = 2, trim_factor = 6, trim_factor = 7)))]
    age: i32,
    #[document(encrypted(range(min = 0.0, max = 1.0, precision = 2, precision = 3)))]
    share: f64,
    #[document(encrypted(prefix(min = 2, min = 3, max = 10), case_sensitive, case_sensitive))]
    name: String,
    #[document(encrypted(substring(max_length = 60, max_length = 50, min = 2, max = 10)))]
    town: String,
}

fn main() {}
