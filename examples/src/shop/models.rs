//! What the shop stores: customers and orders.

use marula::bson::DateTime;
use marula::driver::options::Collation;
use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Somebody who orders. No two customers share an e-mail address, in whatever case it is written.
#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "customers",
    index(email, unique, collation(locale = "en", strength = 2))
)]
pub struct Customer {
    /// The id, ordered by the time it was made.
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    pub id: Uuid,
    /// The name.
    pub name: String,
    /// The e-mail address, as the customer writes it.
    pub email: String,
    /// Where parcels go.
    pub address: Address,
}

impl Customer {
    /// How e-mail addresses compare. A query must name the collation of the index, or it cannot use the index.
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
    /// The id, ordered by the time it was made.
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    pub id: Uuid,
    /// Whose order it is.
    pub customer_id: Uuid,
    /// How far it is.
    pub status: Status,
    /// What is ordered: one line for each article.
    pub lines: Vec<Line>,
    /// When it was placed.
    pub created_at: DateTime,
    /// When it was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<DateTime>,
    /// What the customer wants us to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How far an order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It can be changed and has to be paid.
    Open,
    /// It is paid, and fixed.
    Paid,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    /// The article.
    pub sku: String,
    /// How many.
    pub quantity: u32,
    /// What one costs, in cents.
    pub price_cents: i64,
}
