//! A database for each test, and the orders that most tasks use.

use marula::bson::DateTime;
use marula::{Client, Database, Document, Embedded, Model};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The database of one test, on an in-process replica set or on `MONGODB_URI`.
pub(crate) struct Env {
    pub(crate) db: Database,
    pub(crate) client: Client,
    pub(crate) uri: String,
    server: Option<TestServer>,
}

impl Env {
    /// # Panics
    /// If the deployment cannot be used.
    pub(crate) async fn start() -> Env {
        let (uri, server) = match std::env::var("MONGODB_URI") {
            Ok(uri) => (uri, None),
            Err(_) => {
                let server = TestServer::builder()
                    .replica_set()
                    .start()
                    .await
                    .expect("the server starts");
                (server.uri(), Some(server))
            }
        };
        let client = marula::connect(&uri).await.expect("a valid connection string");
        let db = client.database(&format!("marula_{}", Uuid::now_v7().simple()));
        Env {
            db,
            client,
            uri,
            server,
        }
    }

    /// # Panics
    /// If the deployment cannot be used.
    pub(crate) async fn stop(self) {
        self.db.driver().drop().await.expect("the database is dropped");
        self.client.shutdown().await;
        drop(self.server);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Open,
    Paid,
    Shipped,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(crate) struct Line {
    pub(crate) sku: String,
    pub(crate) qty: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "orders", index(status, -created_at), index(lines.sku))]
pub(crate) struct Order {
    #[serde(rename = "_id")]
    pub(crate) id: Uuid,
    #[document(unique)]
    pub(crate) number: String,
    pub(crate) status: Status,
    pub(crate) total_cents: i64,
    pub(crate) lines: Vec<Line>,
    pub(crate) tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    pub(crate) created_at: DateTime,
}

/// Order `N1` costs 100 cents, `N2` 200 cents and so on.
pub(crate) fn order(number: i64) -> Order {
    Order {
        id: Order::new_id(),
        number: format!("N{number}"),
        status: Status::Open,
        total_cents: number * 100,
        lines: vec![Line {
            sku: "tea".to_owned(),
            qty: 2,
        }],
        tags: Vec::new(),
        note: None,
        created_at: DateTime::from_millis(number * 1000),
    }
}

/// The orders `N1` to `N5`.
pub(crate) fn orders() -> Vec<Order> {
    (1..=5).map(order).collect()
}

pub(crate) fn numbers<'a>(orders: impl IntoIterator<Item = &'a Order>) -> Vec<&'a str> {
    orders.into_iter().map(|o| o.number.as_str()).collect()
}
