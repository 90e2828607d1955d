//! Models: the documents of collections.

use marula::bson::{DateTime, ObjectId};
use marula::{Document, Embedded};

use super::{Form, any, sample};

#[derive(Embedded)]
struct Address {
    street: String,
    city: Option<String>,
}

#[derive(Embedded)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Payment {
    Open,
    Card {
        holder: String,
        paid_at: chrono::DateTime<chrono::Utc>,
    },
}

#[derive(Document)]
#[document(collection = "orders", soft_delete = removed_at)]
#[serde(rename_all = "camelCase")]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[document(created_at)]
    placed_at: DateTime,
    #[document(version)]
    version: i64,
    removed_at: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    total: rust_decimal::Decimal,
    payment: Payment,
    #[serde(flatten)]
    address: Address,
}

#[derive(Document)]
#[document(collection = "events")]
#[serde(tag = "type")]
enum Event {
    Opened { _id: i64, at: DateTime },
    Closed { _id: i64, reason: Option<String> },
}

sample::structs! {
    Address { street, city }
    Order { id, placed_at, version, removed_at, tags, total, payment, address }
}

sample::enums! {
    Payment {
        |_| Payment::Open,
        |random| Payment::Card { holder: any(random), paid_at: any(random) },
    }
    Event {
        |random| Event::Opened { _id: any(random), at: any(random) },
        |random| Event::Closed { _id: any(random), reason: any(random) },
    }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    forms.extend([
        Form::document::<Order>(),
        Form::document::<Event>(),
        Form::value::<Vec<Payment>>(),
    ]);
}
