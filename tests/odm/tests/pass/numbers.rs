//! Number literals fit the fields that they are compared with.

use marula::Document;
use marula::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    price: f64,
    weight: Option<f64>,
    count: Option<u32>,
}

#[test]
fn literals() {
    let o = Order::fields();
    let filter = o.price().gt(5) & o.price().lt(5.5) & o.weight().between(1, 2.5) & o.weight().eq(Some(3));
    assert_eq!(
        filter.to_string(),
        r#"{"price": {"$gt": 5.0, "$lt": 5.5}, "weight": {"$gte": 1.0, "$lte": 2.5, "$eq": 3.0}}"#
    );
    let small: u16 = 7;
    assert_eq!(o.price().set(small).to_string(), r#"{"$set": {"price": 7.0}}"#);
    assert_eq!(
        o._id().gt(5_000_000_000).to_string(),
        r#"{"_id": {"$gt": 5000000000}}"#
    );
    assert_eq!(
        o.count().is_in([1, 2]).to_string(),
        r#"{"count": {"$in": [1, 2]}}"#
    );
}
