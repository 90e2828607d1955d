//! A database for each test, and the models of a small shop.

use std::sync::{Arc, Mutex};

use marula::bson::{self, DateTime, Decimal128};
use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::ClientOptions;
use marula::driver::options::ServerVersion;
use marula::{Client, Database, Document, Embedded};
use marula_test_server::{TestServer, TestServerBuilder};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The database of one test, on an in-process server or on `MONGODB_URI`.
#[derive(Debug)]
pub(crate) struct Env {
    /// The database, which is empty at the start.
    pub(crate) db: Database,
    client: Client,
    server: Option<TestServer>,
}

impl Env {
    /// Starts a server, or connects to `MONGODB_URI`.
    ///
    /// # Panics
    /// If the server cannot be started or reached.
    pub(crate) async fn start() -> Env {
        Env::start_with(TestServer::builder().standalone()).await
    }

    /// As [`start`](Env::start), with a replica set, for transactions and change streams. Prints a
    /// message and returns `None` if the deployment of `MONGODB_URI` is a standalone server.
    ///
    /// # Panics
    /// If the server cannot be started or reached.
    pub(crate) async fn start_replica_set() -> Option<Env> {
        let env = Env::start_with(TestServer::builder().replica_set()).await;
        let admin = env.client.driver().database("admin");
        let reply = admin.run_command(bson::doc! { "ping": 1 }).await;
        if reply
            .expect("the deployment answers")
            .contains_key("operationTime")
        {
            return Some(env);
        }
        eprintln!("skipped: the deployment is a standalone server");
        None
    }

    /// As [`start`](Env::start), with search indexes.
    ///
    /// # Panics
    /// If the server cannot be started or reached.
    pub(crate) async fn start_with_search() -> Env {
        Env::start_with(TestServer::builder().replica_set().search(true)).await
    }

    /// Starts a server of these settings; see [`start`](Env::start).
    ///
    /// # Panics
    /// If the server cannot be started or reached.
    pub(crate) async fn start_with(builder: TestServerBuilder) -> Env {
        let server = match std::env::var("MONGODB_URI") {
            Ok(_) => None,
            Err(_) => Some(builder.start().await.expect("the test server starts")),
        };
        let uri = uri_of(server.as_ref());
        let client = marula::connect(uri).await.expect("a valid connection string");
        let db = client.database(&format!("marula_{}", Uuid::now_v7().simple()));
        Env { db, client, server }
    }

    /// The client of the database.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The connection string of the deployment.
    pub(crate) fn uri(&self) -> String {
        uri_of(self.server.as_ref())
    }

    /// Whether the deployment of `MONGODB_URI` rejects a command because it does not support the
    /// feature. The reason is printed, and the test should return.
    ///
    /// # Panics
    /// If the command fails with another error.
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

    /// Whether the deployment is older than MongoDB `major.minor`, which the test needs. The reason is
    /// printed, and the test should return.
    ///
    /// # Panics
    /// If the server does not reply.
    pub(crate) async fn is_before(&self, major: u32, minor: u32) -> bool {
        let client = self.client.driver();
        let admin = client.database("admin");
        let ping = admin.run_command(bson::doc! { "ping": 1 });
        ping.await.expect("the deployment replies");
        let topology = client.topology_description();
        let oldest = topology
            .servers()
            .filter_map(marula::driver::event::ServerDescription::max_wire_version)
            .min();
        let needed = ServerVersion::release(major, minor);
        let is_before = oldest.is_some_and(|found| ServerVersion::of_wire_version(found) < needed);
        if is_before {
            eprintln!("skipped: the deployment is older than MongoDB {major}.{minor}");
        }
        is_before
    }

    /// Whether the server is the in-process one, which supports all features that the tests use.
    pub(crate) fn is_own(&self) -> bool {
        self.server.is_some()
    }

    /// The in-process server. `None` on the deployment of `MONGODB_URI`.
    pub(crate) fn server(&self) -> Option<&TestServer> {
        self.server.as_ref()
    }

    /// Drops the database and shuts down the client.
    ///
    /// # Panics
    /// If the database cannot be dropped.
    pub(crate) async fn stop(self) {
        self.db.driver().drop().await.expect("the database is dropped");
        self.client.shutdown().await;
        drop(self.server);
    }
}

fn uri_of(server: Option<&TestServer>) -> String {
    server.map_or_else(
        || std::env::var("MONGODB_URI").unwrap_or_default(),
        TestServer::uri,
    )
}

/// The database of a test through another client, and the commands that it sends.
pub(crate) struct Observed {
    pub(crate) db: Database,
    sent: Arc<Mutex<Vec<bson::Document>>>,
}

impl Observed {
    /// A client of the same deployment with changed options.
    ///
    /// # Panics
    /// If the options are invalid.
    pub(crate) fn with_options(env: &Env, change: impl FnOnce(&mut ClientOptions)) -> Observed {
        let mut options = ClientOptions::parse(&env.uri()).expect("a valid connection string");
        change(&mut options);
        let sent = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&sent);
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            if let CommandEvent::Started(started) = event {
                let command = bson::from_slice::<bson::Document>(started.command.as_bytes());
                seen.lock()
                    .expect("not poisoned")
                    .push(command.expect("a command"));
            }
        }));
        let client = Client::with_options(options).expect("valid options");
        let db = client.database(env.db.name());
        Observed { db, sent }
    }

    /// Observes with the default options; see [`with_options`](Observed::with_options).
    pub(crate) fn of(env: &Env) -> Observed {
        Observed::with_options(env, |_| {})
    }

    /// The names of all commands that were not taken, in their order.
    ///
    /// # Panics
    /// If a test has panicked meanwhile.
    pub(crate) fn names(&self) -> Vec<String> {
        let sent = self.sent.lock().expect("not poisoned");
        sent.iter()
            .filter_map(|command| command.keys().next().cloned())
            .collect()
    }

    /// All commands since the last call.
    ///
    /// # Panics
    /// If a test has panicked meanwhile.
    pub(crate) fn take_all(&self) -> Vec<bson::Document> {
        std::mem::take(&mut *self.sent.lock().expect("not poisoned"))
    }

    /// The commands of this name since the last call.
    ///
    /// # Panics
    /// If a test has panicked meanwhile.
    pub(crate) fn take(&self, name: &str) -> Vec<bson::Document> {
        let mut sent = self.sent.lock().expect("not poisoned");
        let all = std::mem::take(&mut *sent);
        let is_named = |command: &bson::Document| command.keys().next().is_some_and(|first| first == name);
        let (taken, left) = all.into_iter().partition(is_named);
        *sent = left;
        taken
    }
}

/// Whether the server does not support a command or option: `CommandNotFound`,
/// `CommandNotSupported`, `InvalidOptions`, `InvalidIndexSpecificationOption`, `NotImplemented`, an unknown field, or a message that says so.
fn is_unsupported(error: &marula::driver::Error) -> bool {
    let text = error.to_string();
    matches!(error.code(), Some(59 | 72 | 115 | 197 | 238 | 40_415))
        || text.contains("not implemented")
        || text.contains("not supported")
        || text.contains("not yet supported")
}

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not paid.
    Open,
    /// Paid.
    Paid,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    /// The stock keeping unit.
    pub(crate) sku: String,
    /// Number of pieces.
    pub(crate) qty: i32,
    /// Price of one piece.
    pub(crate) unit_price: Decimal128,
}

/// The payment of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Payment {
    /// By card.
    Card {
        /// The last four digits.
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
    /// The `_id`.
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    pub(crate) id: Uuid,
    /// The customer.
    pub(crate) customer_id: Uuid,
    /// The state.
    pub(crate) status: Status,
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// The total.
    pub(crate) total: Decimal128,
    /// The payment.
    pub(crate) payment: Payment,
    /// A note.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) note: Option<String>,
    /// The tags.
    pub(crate) tags: Vec<String>,
    /// The creation time.
    pub(crate) created_at: DateTime,
    /// The invoice number, if there is one.
    #[document(unique)]
    pub(crate) number: i64,
}

/// Parses a decimal.
///
/// # Panics
/// If the text is not a number.
pub(crate) fn decimal(text: &str) -> Decimal128 {
    text.parse().expect("a decimal number")
}

/// An order with one line of tea, created `number` seconds after the epoch.
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
