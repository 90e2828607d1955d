//! All attributes and all kinds of indexes.

use std::collections::HashMap;

use marula::bson::{DateTime, Decimal128};
use marula::geo::Point;
use marula::prelude::*;
use marula::{BsonType, Document, Embedded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Serialize, Deserialize, Embedded)]
enum Status {
    Open,
    Done,
}

#[derive(Clone, Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
    size: i32,
}

#[derive(Clone, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "orders",
    soft_delete = removed_at,
    validate = Order::check,
    hooks,
    schema_version(2, upgrade = upgrade, field = "v"),
    index(customer_id, -created_at),
    index(lines.sku, lines.size, sparse),
    index(email, unique, collation(locale = "en", strength = 2)),
    index(expires_at, ttl = "0s"),
    index(due, name = "open_due", partial(status == Status::Open && total > Decimal128::from_bytes([0; 16]))),
    index(due, renamed_from = "due_typed", name = "due_2", partial((note.exists() && note.type_is(BsonType::String)) || note.is_in(["a"]))),
    index(text(title, weight = 10), text(tags), language = "none", language_override = "lang"),
    index(geo(place)),
    index(hashed(tenant)),
    index(wildcard(attrs)),
    index(wildcard),
    index(note, hidden)
)]
struct Order {
    #[serde(rename = "_id")]
    #[document(id = uuid_v4)]
    id: Uuid,
    customer_id: Uuid,
    #[document(created_at)]
    created_at: DateTime,
    #[document(updated_at)]
    changed_at: Option<DateTime>,
    #[document(version)]
    version: u32,
    removed_at: Option<DateTime>,
    expires_at: Option<DateTime>,
    due: Option<DateTime>,
    status: Status,
    total: Decimal128,
    note: Option<String>,
    title: String,
    tags: Vec<String>,
    place: Point,
    #[document(index)]
    tenant: String,
    attrs: HashMap<String, i32>,
    lines: Vec<Line>,
    email: String,
}

impl Order {
    fn check(&self) -> Result<(), marula::ValueError> {
        if self.title.is_empty() {
            return Err(marula::ValueError::new("the title is empty"));
        }
        Ok(())
    }
}

fn upgrade(_: u32, document: &mut marula::bson::Document) -> Result<(), marula::ValueError> {
    document.insert("tags", Vec::<String>::new());
    Ok(())
}

impl marula::Hooks for Order {}

#[test]
fn index_names() {
    let names: Vec<String> = Order::indexes()
        .iter()
        .map(marula::index::IndexDeclaration::index_name)
        .collect();
    assert_eq!(
        names,
        [
            "customerId_1_createdAt_-1",
            "lines.sku_1_lines.size_1",
            "email_1",
            "expiresAt_1",
            "open_due",
            "due_2",
            "title_text_tags_text",
            "place_2dsphere",
            "tenant_hashed",
            "attrs.$**_1",
            "$**_1",
            "note_1",
            "tenant_1",
        ]
    );
}
