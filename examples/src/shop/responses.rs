//! The JSON of responses.

use marula::bson::DateTime;
use marula::collection::KeysetPage;
use serde::Serialize;
use uuid::Uuid;

use super::models::{Address, Customer, Line, Order, Status};

/// The JSON of a customer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomerView {
    id: Uuid,
    name: String,
    email: String,
    address: Address,
}

impl From<Customer> for CustomerView {
    fn from(customer: Customer) -> Self {
        CustomerView {
            id: customer.id,
            name: customer.name,
            email: customer.email,
            address: customer.address,
        }
    }
}

/// The JSON of an order, with its total.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderView {
    id: Uuid,
    customer_id: Uuid,
    status: Status,
    total_cents: i64,
    lines: Vec<Line>,
    created_at: DateTime,
    paid_at: Option<DateTime>,
    note: Option<String>,
}

impl From<Order> for OrderView {
    fn from(order: Order) -> Self {
        let cost = |line: &Line| line.price_cents.saturating_mul(line.quantity.into());
        OrderView {
            id: order.id,
            customer_id: order.customer_id,
            status: order.status,
            total_cents: order.lines.iter().map(cost).fold(0, i64::saturating_add),
            lines: order.lines,
            created_at: order.created_at,
            paid_at: order.paid_at,
            note: order.note,
        }
    }
}

/// A page of a list, with the cursors of the next and the previous page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed<T> {
    items: Vec<T>,
    next: Option<String>,
    previous: Option<String>,
}

impl<D, T: From<D>> From<KeysetPage<D>> for Listed<T> {
    fn from(page: KeysetPage<D>) -> Self {
        Listed {
            items: page.items.into_iter().map(T::from).collect(),
            next: page.next,
            previous: page.previous,
        }
    }
}
