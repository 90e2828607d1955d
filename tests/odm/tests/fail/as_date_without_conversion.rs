use marula::Document;
use marula::bson::Decimal128;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod chrono {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub struct Utc;
    #[derive(Serialize, Deserialize)]
    pub struct DateTime<Z>(String, Z);
    #[derive(Serialize, Deserialize)]
    pub struct NaiveDate(String);
}

mod rust_decimal {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub struct Decimal(String);
}

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    #[document(as = marula::bson::DateTime)]
    created: DateTime<Utc>,
    #[document(as = BTreeMap<String, DateTime<Utc>>)]
    days: BTreeMap<i64, NaiveDate>,
    #[document(as = Vec<Decimal128>)]
    amounts: Vec<Decimal>,
    #[document(opaque)]
    span: (DateTime<Utc>, i32),
    #[document(opaque)]
    total: rust_decimal::Decimal,
}

fn main() {}
