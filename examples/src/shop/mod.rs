//! A small shop: an axum backend with two models.
//!
//! - [`models`]: what is stored, and its indexes.
//! - [`requests`], [`responses`]: the JSON of the API, and the checks of what comes in.
//! - [`handlers_customers`], [`handlers_orders`]: one function for each route.
//! - [`router`]: the routes. [`extract`], [`error`]: every failure as a status and a JSON body.

pub mod error;
pub mod extract;
pub mod handlers_customers;
pub mod handlers_orders;
pub mod models;
pub mod requests;
pub mod responses;
pub mod router;

use marula::schema::{Apply, SchemaPlan};
use marula::{Collection, Database};

use models::{Customer, Order};

/// What every handler gets: typed collections. Cloning is cheap, and all clones share one pool of connections.
#[derive(Clone, Debug)]
pub struct Shop {
    /// The customers.
    pub customers: Collection<Customer>,
    /// The orders.
    pub orders: Collection<Order>,
}

impl Shop {
    /// The shop of a database. Nothing is sent.
    #[must_use]
    pub fn new(db: &Database) -> Self {
        Shop {
            customers: db.collection(),
            orders: db.collection(),
        }
    }
}

/// Creates the indexes that the models declare and the database does not have, and tells what was planned.
///
/// Any number of processes may do this at start-up, at the same time; when there is nothing to do it only reads.
///
/// # Errors
/// A declared index that differs from an existing one of its name; what the driver reports.
pub async fn sync_indexes(db: &Database) -> marula::Result<SchemaPlan> {
    let plan = db
        .schema()
        .register::<Customer>()
        .register::<Order>()
        .plan()
        .await?;
    plan.apply(Apply::additive()).await?;
    Ok(plan)
}
