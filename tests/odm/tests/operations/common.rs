//! A database for each test, and the models of a small shop.

use marula::bson::{self, DateTime, Decimal128};
use marula::{Client, Database, Document, Embedded};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A database of its own for one test: in a server in this process, or in the deployment that `MONGODB_URI` names.
#[derive(Debug)]
pub(crate) struct Env {
    /// The database, empty at first.
    pub(crate) db: Database,
    client: Client,
    server: Option<TestServer>,
}

impl Env {
    /// Starts a server, or connects to the one named.
    ///
    /// # Panics
    /// When the server cannot be started or reached.
    pub(crate) async fn start() -> Env {
        let server = match std::env::var("MONGODB_URI") {
            Ok(_) => None,
            Err(_) => Some(
                TestServer::builder()
                    .standalone()
                    .start()
                    .await
                    .expect("the test server starts"),
            ),
        };
        let uri = server.as_ref().map_or_else(
            || std::env::var("MONGODB_URI").unwrap_or_default(),
            TestServer::uri,
        );
        let client = marula::connect(uri)
            .await
            .expect("the connection string is understood");
        let db = client.database(&format!("marula_{}", Uuid::now_v7().simple()));
        Env { db, client, server }
    }

    /// Whether the deployment that `MONGODB_URI` names refuses a command because it has no such feature. The reason is printed,
    /// and a test that needs the feature ends there.
    ///
    /// # Panics
    /// When the command fails in another way.
    pub(crate) async fn lacks(&self, feature: &str, command: bson::Document) -> bool {
        match self.db.driver().run_command(command).await {
            Ok(_) => false,
            Err(error) if self.server.is_none() && is_unsupported(&error) => {
                eprintln!("skipped: the deployment has no {feature}: {error}");
                true
            }
            Err(error) => panic!("{feature}: {error}"),
        }
    }

    /// Whether the server is this process's own, which has every feature of MongoDB that a test uses.
    pub(crate) fn is_own(&self) -> bool {
        self.server.is_some()
    }

    /// Drops the database and ends the client.
    ///
    /// # Panics
    /// When the database cannot be dropped.
    pub(crate) async fn stop(self) {
        self.db.driver().drop().await.expect("the database is dropped");
        self.client.shutdown().await;
        drop(self.server);
    }
}

/// Whether a server says that it has no such command or option: `CommandNotFound`, `CommandNotSupported`, `NotImplemented`, or
/// in words.
fn is_unsupported(error: &marula::driver::Error) -> bool {
    let text = error.to_string();
    matches!(error.code(), Some(59 | 115 | 238))
        || text.contains("not implemented")
        || text.contains("not supported")
        || text.contains("not yet supported")
}

/// What an order can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// To be paid.
    Open,
    /// Paid.
    Paid,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    /// The article.
    pub(crate) sku: String,
    /// How many.
    pub(crate) qty: i32,
    /// For how much each.
    pub(crate) unit_price: Decimal128,
}

/// How an order is paid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Payment {
    /// By card.
    Card {
        /// The end of its number.
        last_four: String,
    },
    /// In cash.
    Cash,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "orders",
    index(customer_id, -created_at),
    index(lines.sku, name = "skus"),
    index(status, partial(status == Status::Open))
)]
pub(crate) struct Order {
    /// The id.
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    pub(crate) id: Uuid,
    /// Whose order it is.
    pub(crate) customer_id: Uuid,
    /// What it is.
    pub(crate) status: Status,
    /// What is ordered.
    pub(crate) lines: Vec<Line>,
    /// The sum.
    pub(crate) total: Decimal128,
    /// How it is paid.
    pub(crate) payment: Payment,
    /// A remark.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) note: Option<String>,
    /// Words.
    pub(crate) tags: Vec<String>,
    /// When it was made.
    pub(crate) created_at: DateTime,
    /// An invoice number, once there is one.
    #[document(unique)]
    pub(crate) number: i64,
}

/// A decimal from its text.
///
/// # Panics
/// When the text is not a number.
pub(crate) fn decimal(text: &str) -> Decimal128 {
    text.parse().expect("a decimal number")
}

/// An order with one line of tea, made `number` seconds after the epoch.
pub(crate) fn order(number: i64) -> Order {
    use marula::Model;
    Order {
        id: Order::new_id(),
        customer_id: Uuid::from_u128(1),
        status: Status::Open,
        lines: vec![Line {
            sku: "tea".to_owned(),
            qty: 2,
            unit_price: decimal("4.95"),
        }],
        total: decimal("9.90"),
        payment: Payment::Cash,
        note: None,
        tags: Vec::new(),
        created_at: DateTime::from_millis(number * 1000),
        number,
    }
}
