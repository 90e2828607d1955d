//! The JSON of requests, and its validation and conversion to models.

use std::collections::HashSet;

use marula::Model;
use marula::bson::DateTime;
use serde::Deserialize;
use uuid::Uuid;

use super::error::{ApiError, Problem};
use super::models::{Address, Customer, Line, Order, Status};

const MAX_TEXT: usize = 200;
const MAX_EMAIL: usize = 254;
const MAX_LINES: usize = 100;
const MAX_QUANTITY: u32 = 1_000;
const MAX_PRICE_CENTS: i64 = 100_000_000;
const PAGE: u32 = 20;
const MAX_PAGE: u32 = 100;

/// The body of `POST /customers`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCustomer {
    name: String,
    email: String,
    address: Address,
}

impl NewCustomer {
    /// Converts the request to a customer with a new id.
    ///
    /// # Errors
    /// [`ApiError::Invalid`] with all invalid fields.
    pub fn into_model(self) -> Result<Customer, ApiError> {
        let mut checks = Checks::default();
        checks.text("name", &self.name);
        checks.that(is_email(&self.email), "email", "is not an e-mail address");
        checks.text("address.street", &self.address.street);
        checks.text("address.city", &self.address.city);
        if let Some(code) = &self.address.postal_code {
            checks.text("address.postalCode", code);
        }
        let country = self.address.country.as_bytes();
        checks.that(
            country.len() == 2 && country.iter().all(u8::is_ascii_uppercase),
            "address.country",
            "must be two capital letters, such as ZA",
        );
        checks.finish()?;
        Ok(Customer {
            id: Customer::new_id(),
            name: self.name,
            email: self.email,
            address: self.address,
        })
    }
}

/// The body of `POST /orders`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewOrder {
    customer_id: Uuid,
    lines: Vec<Line>,
    note: Option<String>,
}

impl NewOrder {
    /// Converts the request to an open order with a new id.
    ///
    /// # Errors
    /// [`ApiError::Invalid`] with all invalid fields.
    pub fn into_model(self) -> Result<Order, ApiError> {
        let mut checks = Checks::default();
        checks.that(
            (1..=MAX_LINES).contains(&self.lines.len()),
            "lines",
            format!("must have 1 to {MAX_LINES} elements"),
        );
        let mut skus = HashSet::new();
        for (i, line) in self.lines.iter().enumerate().take(MAX_LINES) {
            checks.text(&format!("lines[{i}].sku"), &line.sku);
            checks.quantity(&format!("lines[{i}].quantity"), line.quantity);
            checks.that(
                (0..=MAX_PRICE_CENTS).contains(&line.price_cents),
                &format!("lines[{i}].priceCents"),
                format!("must be 0 to {MAX_PRICE_CENTS}"),
            );
            checks.that(
                skus.insert(&line.sku),
                &format!("lines[{i}].sku"),
                "is the same as in another line",
            );
        }
        if let Some(note) = &self.note {
            checks.text("note", note);
        }
        checks.finish()?;
        Ok(Order {
            id: Order::new_id(),
            customer_id: self.customer_id,
            status: Status::Open,
            lines: self.lines,
            created_at: DateTime::now(),
            paid_at: None,
            note: self.note,
        })
    }
}

/// The body of `PATCH /orders/{id}/lines/{sku}`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LineChange {
    quantity: u32,
}

impl LineChange {
    /// The new quantity of the line.
    ///
    /// # Errors
    /// [`ApiError::Invalid`] if it is out of range.
    pub fn quantity(self) -> Result<u32, ApiError> {
        let mut checks = Checks::default();
        checks.quantity("quantity", self.quantity);
        checks.finish()?;
        Ok(self.quantity)
    }
}

/// The query of `GET /customers?email=…&limit=…&cursor=…`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomerQuery {
    /// Only the customer with this e-mail address.
    pub email: Option<String>,
    /// Maximum number of customers on the page. Default: 20.
    pub limit: Option<u32>,
    /// The cursor of the page, from another page. Default: the first page.
    pub cursor: Option<String>,
}

/// The query of `GET /orders?customer=…&status=…&sku=…&limit=…&cursor=…`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderQuery {
    /// Only orders of this customer.
    pub customer: Option<Uuid>,
    /// Only orders in this state.
    pub status: Option<Status>,
    /// Only orders with a line of this article.
    pub sku: Option<String>,
    /// Maximum number of orders on the page. Default: 20.
    pub limit: Option<u32>,
    /// The cursor of the page, from another page. Default: the first page.
    pub cursor: Option<String>,
}

/// The size of a page, from the `limit` of a query.
///
/// # Errors
/// [`ApiError::Invalid`] if it is out of range.
pub fn page_size(limit: Option<u32>) -> Result<u32, ApiError> {
    let size = limit.unwrap_or(PAGE);
    let mut checks = Checks::default();
    checks.that(
        (1..=MAX_PAGE).contains(&size),
        "limit",
        format!("must be 1 to {MAX_PAGE}"),
    );
    checks.finish()?;
    Ok(size)
}

/// Collects all invalid fields of a request.
#[derive(Default)]
struct Checks(Vec<Problem>);

impl Checks {
    fn that(&mut self, holds: bool, field: &str, problem: impl Into<String>) {
        if !holds {
            self.0.push(Problem::new(field, problem));
        }
    }

    fn text(&mut self, field: &str, text: &str) {
        let length = text.chars().count();
        self.that(
            length <= MAX_TEXT && !text.trim().is_empty() && !text.contains(char::is_control),
            field,
            format!("must be 1 to {MAX_TEXT} characters of text"),
        );
    }

    fn quantity(&mut self, field: &str, quantity: u32) {
        self.that(
            (1..=MAX_QUANTITY).contains(&quantity),
            field,
            format!("must be 1 to {MAX_QUANTITY}"),
        );
    }

    fn finish(self) -> Result<(), ApiError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(ApiError::Invalid(self.0))
        }
    }
}

/// Whether the text has the form of an e-mail address.
fn is_email(text: &str) -> bool {
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let parts = text.split_once('@');
    plain
        && text.len() <= MAX_EMAIL
        && parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('@'))
}
