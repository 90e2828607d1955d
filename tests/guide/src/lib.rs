//! The models of the examples in the documentation of marula, and the deployment on which the
//! examples run. Hidden lines of the examples import them.

// The imports of the examples. A private import of one of these names would hide it from them.
pub use marula::bson::{DateTime, doc};
pub use marula::prelude::*;
pub use marula::*;
pub use marula_test_server::TestServer;
pub use serde::{Deserialize, Serialize};

/// The documentation of the derive macros, whose examples run as tests of this package.
#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/derives.md"))]
mod derives {}

/// The error of an example.
type AnyError = Box<dyn std::error::Error>;

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not paid.
    Open,
    /// Not shipped.
    Paid,
    /// At the customer.
    Shipped,
}

/// An article of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct Line {
    /// The article.
    pub sku: String,
    /// The number of pieces.
    pub qty: i32,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Document)]
#[document(collection = "orders", index(customer, -created_at))]
pub struct Order {
    /// The id.
    #[serde(rename = "_id")]
    pub id: i64,
    /// The id of the customer.
    pub customer: i64,
    /// The state.
    pub status: Status,
    /// The price of all lines.
    pub total: i64,
    /// The articles.
    pub lines: Vec<Line>,
    /// Labels.
    pub tags: Vec<String>,
    /// What the customer has written.
    pub note: Option<String>,
    /// The time of the order.
    pub created_at: DateTime,
}

/// A customer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Document)]
#[document(collection = "customers")]
pub struct Customer {
    /// The id.
    #[serde(rename = "_id")]
    pub id: i64,
    /// The address for messages.
    #[document(unique)]
    pub email: String,
    /// The code of the country.
    pub country: String,
}

/// A shop in a street.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "stores", index(geo(place)))]
pub struct Store {
    /// The id.
    #[serde(rename = "_id")]
    pub id: i64,
    /// The name.
    pub name: String,
    /// The location.
    pub place: geo::Point,
}

/// Order 1 is from customer 1, costs 100, and was made one second after 1970 began; and so on. It has
/// two pieces of tea and one cup.
#[must_use]
pub fn order(id: i64) -> Order {
    let line = |sku: &str, qty| Line {
        sku: sku.to_owned(),
        qty,
    };
    Order {
        id,
        customer: id,
        status: Status::Open,
        total: id * 100,
        lines: vec![line("tea", 2), line("cup", 1)],
        tags: Vec::new(),
        note: None,
        created_at: DateTime::from_millis(id * 1000),
    }
}

/// Customer 1 has the address `1@example.com`, and so on.
#[must_use]
pub fn customer(id: i64) -> Customer {
    Customer {
        id,
        email: format!("{id}@example.com"),
        country: "CH".to_owned(),
    }
}

/// A deployment with three orders and their customers.
#[derive(Debug)]
pub struct Shop {
    /// A replica set.
    pub server: TestServer,
    /// A client of it.
    pub client: Client,
    /// The database `shop`.
    pub db: Database,
    /// The orders 1 to 3.
    pub orders: Collection<Order>,
    /// The customers 1 to 3.
    pub customers: Collection<Customer>,
}

impl Shop {
    async fn open() -> Result<Shop, AnyError> {
        let server = TestServer::builder().replica_set().start().await?;
        let client = marula::connect(server.uri()).await?;
        let db = client.database("shop");
        let (orders, customers) = (db.collection(), db.collection());
        orders.insert_many((1..=3).map(order)).await?;
        customers.insert_many((1..=3).map(customer)).await?;
        Ok(Shop {
            server,
            client,
            db,
            orders,
            customers,
        })
    }
}

/// Runs an example with a deployment of its own.
///
/// # Panics
/// If the example fails, or the client violates the protocol.
pub fn run(example: impl AsyncFnOnce(Shop) -> Result<(), AnyError>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(async { example(Shop::open().await?).await })
        .expect("the example runs without an error");
}
