use marula::Document;
use serde::{Deserialize, Serialize};

mod chrono {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub struct Utc;
    #[derive(Serialize, Deserialize)]
    pub struct DateTime<Z>(String, Z);
    #[derive(Serialize, Deserialize)]
    pub struct NaiveDate(String);
}

use chrono::{DateTime, Utc};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(opaque)]
    created: DateTime<Utc>,
    #[document(opaque)]
    days: Option<Vec<chrono::NaiveDate>>,
}

fn main() {}
