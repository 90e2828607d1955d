//! The models of a shop, the shapes of its reports, and a database for each test.

use marula::aggregate::{BucketRange, Counted};
use marula::bson::{DateTime, Decimal128, Uuid};
use marula::{Client, Collection, Database, Document, Embedded, Model, Shape};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "customers")]
pub(crate) struct Customer {
    #[serde(rename = "_id")]
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) tier: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "orders")]
pub(crate) struct Order {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    pub(crate) customer_id: Uuid,
    pub(crate) status: Status,
    pub(crate) lines: Vec<Line>,
    pub(crate) total: i64,
    pub(crate) discount: Option<i32>,
    pub(crate) fee: Option<Decimal128>,
    pub(crate) address: Option<Address>,
    pub(crate) payment: Payment,
    pub(crate) tags: Vec<String>,
    pub(crate) created_at: DateTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    pub(crate) sku: String,
    pub(crate) quantity: i32,
    pub(crate) price_cents: i64,
    pub(crate) product: Product,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(crate) struct Product {
    pub(crate) name: String,
    pub(crate) weight: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(crate) struct Address {
    pub(crate) city: String,
    pub(crate) zip: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Open,
    Paid,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Payment {
    Card { code: String },
    Voucher { code: i32 },
}

#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[document(collection = "refunds")]
pub(crate) struct Refund {
    pub(crate) _id: i64,
    pub(crate) customer: Uuid,
    pub(crate) amount: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Totals {
    #[serde(rename = "_id")]
    pub(crate) customer: Uuid,
    pub(crate) revenue: i64,
    pub(crate) orders: i64,
    pub(crate) average: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct MonthKey {
    pub(crate) customer: Uuid,
    pub(crate) month: DateTime,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Monthly {
    #[serde(rename = "_id")]
    pub(crate) key: MonthKey,
    pub(crate) revenue: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Grand {
    pub(crate) revenue: i64,
    pub(crate) largest: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Row {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    pub(crate) label: String,
    pub(crate) city: Option<String>,
    pub(crate) net: i64,
    pub(crate) weight: f64,
    pub(crate) year: i32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct SkuSales {
    #[serde(rename = "_id")]
    pub(crate) sku: String,
    pub(crate) sold: i64,
    pub(crate) revenue: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Valued {
    #[serde(flatten)]
    pub(crate) order: Order,
    pub(crate) net: i64,
    pub(crate) pieces: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Running {
    #[serde(flatten)]
    pub(crate) order: Order,
    pub(crate) so_far: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct WithCustomer {
    #[serde(flatten)]
    pub(crate) order: Order,
    pub(crate) customers: Vec<Customer>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct WithRecent {
    #[serde(flatten)]
    pub(crate) customer: Customer,
    pub(crate) recent: Vec<Row>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Overview {
    pub(crate) by_status: Vec<Counted<Status>>,
    pub(crate) top: Vec<Totals>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Movement {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    pub(crate) customer: Uuid,
    pub(crate) amount: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document, Shape)]
#[document(collection = "daily")]
pub(crate) struct Daily {
    #[serde(rename = "_id")]
    #[document(id = manual)]
    pub(crate) day: DateTime,
    pub(crate) revenue: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Size {
    #[serde(rename = "_id")]
    pub(crate) from: i64,
    pub(crate) orders: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
pub(crate) struct Range {
    #[serde(rename = "_id")]
    pub(crate) range: BucketRange<i64>,
    pub(crate) orders: i64,
}

/// A database with two customers and four orders.
pub(crate) struct Shop {
    pub(crate) orders: Collection<Order>,
    pub(crate) customers: Collection<Customer>,
    pub(crate) db: Database,
    client: Client,
    server: Option<TestServer>,
}

impl Shop {
    /// Starts a server, or connects to `MONGODB_URI`.
    pub(crate) async fn open() -> Shop {
        let server = match std::env::var("MONGODB_URI") {
            Ok(_) => None,
            Err(_) => Some(
                TestServer::builder()
                    .standalone()
                    .start()
                    .await
                    .expect("the server starts"),
            ),
        };
        let uri = server.as_ref().map_or_else(
            || std::env::var("MONGODB_URI").unwrap_or_default(),
            TestServer::uri,
        );
        let client = marula::connect(uri).await.expect("a valid connection string");
        let db = client.database(&format!("marula_{}", uuid::Uuid::now_v7().simple()));
        let shop = Shop {
            orders: db.collection(),
            customers: db.collection(),
            db,
            client,
            server,
        };
        shop.customers
            .insert_many(&[ada(), grace()])
            .await
            .expect("customers are inserted");
        shop.orders
            .insert_many(&orders())
            .await
            .expect("orders are inserted");
        shop
    }

    /// Drops the database and shuts down the client.
    pub(crate) async fn close(self) {
        self.db.driver().drop().await.expect("the database is dropped");
        self.client.shutdown().await;
        drop(self.server);
    }
}

pub(crate) fn ada() -> Customer {
    Customer {
        id: Uuid::from_bytes([1; 16]),
        name: "Ada".to_owned(),
        tier: 2,
    }
}

pub(crate) fn grace() -> Customer {
    Customer {
        id: Uuid::from_bytes([2; 16]),
        name: "Grace".to_owned(),
        tier: 1,
    }
}

fn line(sku: &str, quantity: i32, price_cents: i64) -> Line {
    Line {
        sku: sku.to_owned(),
        quantity,
        price_cents,
        product: Product {
            name: sku.to_uppercase(),
            weight: 0.5,
        },
    }
}

/// Orders 1 to 4, of which the first three are of one customer.
pub(crate) fn orders() -> Vec<Order> {
    let order = |id: i64, pieces: i32, total: i64, customer: Uuid| Order {
        id,
        customer_id: customer,
        status: if id == 3 { Status::Open } else { Status::Paid },
        lines: vec![line("tea", pieces, 100), line("pot", 1, 500)],
        total,
        discount: (id == 2).then_some(50),
        fee: None,
        address: (id < 3).then(|| Address {
            city: "Zurich".to_owned(),
            zip: (id == 1).then(|| "8001".to_owned()),
        }),
        payment: if id == 4 {
            Payment::Voucher { code: 7 }
        } else {
            Payment::Card {
                code: format!("c{id}"),
            }
        },
        tags: vec!["Gift".to_owned(), format!("n{id}")],
        created_at: DateTime::from_millis(id * 86_400_000 * 20),
    };
    vec![
        order(1, 1, 600, ada().id),
        order(2, 2, 700, ada().id),
        order(3, 3, 800, ada().id),
        order(4, 4, 12_000, grace().id),
    ]
}

/// The name of a collection, to check the derive of a shape that is also a document.
pub(crate) const DAILY: &str = Daily::COLLECTION;
