//! The specifications of declared indexes.

use std::collections::HashMap;

use marula::bson::{Bson, DateTime, doc};
use marula::geo::Point;
use marula::prelude::*;
use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
enum Status {
    Open,
    Done,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
struct Line {
    unit_price: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "orders",
    index(customer_id, -created_at),
    index(lines.unit_price, sparse, hidden),
    index(email, unique, collation(locale = "en", strength = 2, case_level = true)),
    index(created_at, ttl = "30d", name = "expiry"),
    index(due, name = "open", partial(status == Status::Open && (total > 0 || due.exists()))),
    index(due, name = "some", partial(total >= 1 && total.is_in([1, 2]))),
    index(email, name = "without_due", unique, partial(due == None && total > 0)),
    index(text(title, weight = 10), text(email), language = "none", language_override = "lang"),
    index(geo(place)),
    index(hashed(email)),
    index(wildcard(attrs)),
    index(wildcard)
)]
struct Order {
    #[serde(rename = "_id")]
    id: i64,
    customer_id: i64,
    created_at: DateTime,
    email: String,
    due: Option<DateTime>,
    status: Status,
    total: i32,
    title: String,
    place: Point,
    attrs: HashMap<String, i32>,
    lines: Vec<Line>,
    #[document(index)]
    tenant: String,
    #[document(unique)]
    number: i64,
}

#[test]
fn specifications() {
    let specifications: Vec<_> = Order::indexes()
        .iter()
        .map(marula::index::IndexDeclaration::specification)
        .collect();
    let date_exists = doc! { "due": { "$exists": true } };
    let expected = [
        doc! { "key": { "customerId": 1, "createdAt": -1 }, "name": "customerId_1_createdAt_-1" },
        doc! { "key": { "lines.unitPrice": 1 }, "name": "lines.unitPrice_1", "sparse": true, "hidden": true },
        doc! {
            "key": { "email": 1 }, "name": "email_1", "unique": true,
            "collation": { "locale": "en", "strength": 2, "caseLevel": true },
        },
        doc! { "key": { "createdAt": 1 }, "name": "expiry", "expireAfterSeconds": 2_592_000_i64 },
        doc! {
            "key": { "due": 1 }, "name": "open",
            "partialFilterExpression": { "status": { "$eq": "Open" }, "$or": [{ "total": { "$gt": 0 } }, date_exists] },
        },
        doc! {
            "key": { "due": 1 }, "name": "some",
            "partialFilterExpression": { "total": { "$gte": 1, "$in": [1, 2] } },
        },
        doc! {
            "key": { "email": 1 }, "name": "without_due", "unique": true,
            "partialFilterExpression": { "due": { "$eq": null }, "total": { "$gt": 0 } },
        },
        doc! {
            "key": { "title": "text", "email": "text" }, "name": "title_text_email_text",
            "default_language": "none", "language_override": "lang", "weights": { "title": 10 },
        },
        doc! { "key": { "place": "2dsphere" }, "name": "place_2dsphere" },
        doc! { "key": { "email": "hashed" }, "name": "email_hashed" },
        doc! { "key": { "attrs.$**": 1 }, "name": "attrs.$**_1" },
        doc! { "key": { "$**": 1 }, "name": "$**_1" },
        doc! { "key": { "tenant": 1 }, "name": "tenant_1" },
        doc! { "key": { "number": 1 }, "name": "number_1", "unique": true },
    ];
    assert_eq!(specifications, expected);
}

#[test]
fn accessors_have_the_stored_names() {
    let order = Order::fields();
    assert_eq!(
        order
            .status()
            .eq(Status::Done)
            .into_document()
            .unwrap()
            .get("status"),
        Some(&Bson::from(doc! { "$eq": "Done" }))
    );
}
