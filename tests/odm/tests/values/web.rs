//! The same model as the body of a web request and as a document.

use chrono::{DateTime, Utc};
use marula::Document;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    placed_at: DateTime<Utc>,
    shipped: Option<jiff::Timestamp>,
    total: rust_decimal::Decimal,
}

#[test]
fn json_has_rfc_3339_and_plain_numbers() {
    let body = json!({
        "_id": 7,
        "placed_at": "2024-05-06T07:08:09Z",
        "shipped": "2024-05-07T00:00:00Z",
        "total": "19.90",
    });
    let order: Order = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(serde_json::to_value(&order).unwrap(), body);
}
