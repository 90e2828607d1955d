//! The stored documents: customers and orders.

use marula::bson::DateTime;
use marula::driver::options::Collation;
use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A customer. E-mail addresses are unique, ignoring case.
#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "customers",
    index(email, unique, collation(locale = "en", strength = 2))
)]
pub struct Customer {
    /// UUIDv7, so that ids are ordered by creation time.
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    pub id: Uuid,
    /// The name of the customer, 1 to 200 characters.
    pub name: String,
    /// The e-mail address, in the case in which it was entered.
    pub email: String,
    /// The delivery address.
    pub address: Address,
}

impl Customer {
    /// The collation of e-mail addresses. A query must specify the collation of the index to use
    /// it.
    #[must_use]
    pub fn email_collation() -> Collation {
        Collation::new("en").with_strength(2)
    }
}

/// A postal address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Address {
    /// Street and number.
    pub street: String,
    /// Postal code, if the country has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// City.
    pub city: String,
    /// Country, as two letters (ISO 3166-1).
    pub country: String,
}

/// An order of a customer.
#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "orders",
    index(customer_id, -created_at),
    index(lines.sku),
    index(created_at, name = "open_orders", partial(status == Status::Open))
)]
pub struct Order {
    /// UUIDv7, so that ids are ordered by creation time.
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    pub id: Uuid,
    /// The id of the customer.
    pub customer_id: Uuid,
    /// The state of the order.
    pub status: Status,
    /// The ordered articles, one line for each.
    pub lines: Vec<Line>,
    /// The time at which the order was placed.
    pub created_at: DateTime,
    /// The time at which the order was paid. `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<DateTime>,
    /// A note by the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not paid; the order can be changed.
    Open,
    /// Paid; the order cannot be changed.
    Paid,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    /// The stock keeping unit of the article.
    pub sku: String,
    /// Number of pieces, 1 to 1,000.
    pub quantity: u32,
    /// Price of one piece, in cents.
    pub price_cents: i64,
}
