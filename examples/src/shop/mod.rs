//! A small web shop: an axum backend with two models.
//!
//! - [`models`]: the stored documents and their indexes.
//! - [`requests`], [`responses`]: the JSON of the API, and the validation of requests.
//! - [`handlers_customers`], [`handlers_orders`]: one function for each route.
//! - [`router`]: the routes. [`extract`], [`error`]: errors as a status and a JSON body.

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

/// The state of the handlers: typed collections. Cloning is cheap, and all clones share the
/// connection pools.
#[derive(Clone, Debug)]
pub struct Shop {
    /// The collection `customers`.
    pub customers: Collection<Customer>,
    /// The collection `orders`.
    pub orders: Collection<Order>,
}

impl Shop {
    /// The collections of a database. Nothing is sent.
    #[must_use]
    pub fn new(db: &Database) -> Self {
        Shop {
            customers: db.collection(),
            orders: db.collection(),
        }
    }
}

/// Creates the declared indexes that do not exist, and returns the plan that was applied.
///
/// Several processes can call this concurrently at start-up. If all indexes exist, nothing is
/// written.
///
/// # Errors
/// A conflict of a declared index with an existing one; errors of the driver.
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
