//! Observability: spans, metrics, events, OpenTelemetry.
//!
//! | what | how |
//! |---|---|
//! | a span for each typed call, log messages of the driver | feature `tracing` |
//! | counts and durations of typed calls | feature `metrics` |
//! | spans of operations and commands for OpenTelemetry | feature `opentelemetry` |
//! | commands, connections, servers as events | listeners of [`ClientOptions`](crate::driver::options::ClientOptions) |
//!
//! None of them contains values of filters, updates and documents, except the events of commands
//! and log messages at level debug.
//!
//! # Spans
//!
//! With the feature `tracing`, a call runs in a span of the target `marula::call` with the level
//! debug. Its fields are `model`, `operation`, `collection`, the shape of the query and of the
//! update, and the kind of an error; see [`observe`](crate::observe).
//!
//! ```text
//! find{model=Order collection=shop.orders query={customer: {$eq: ?}, total: {$gt: ?}}}
//! ```
//!
//! The span is a child of the current one, for example that of the request:
//!
//! ```
//! # #[cfg(feature = "tracing")]
//! # mod example {
//! # use marula::{Collection, Document, prelude::*};
//! # #[derive(Document)]
//! # #[document(collection = "orders")]
//! # struct Order { _id: i64, customer: i64 }
//! async fn handle(orders: Collection<Order>, customer: i64) -> marula::Result<usize> {
//!     let span = tracing::info_span!("orders_of_customer", customer);
//!     let _entered = span.enter(); // in async code with several awaits, use `Instrument`
//!     let call = orders.find(|o| o.customer().eq(customer)).all();
//!     drop(_entered);
//!     Ok(call.await?.len())
//! }
//! # }
//! ```
//!
//! # Metrics
//!
//! With the feature `metrics`, each call adds to `marula_calls_total` (labels `model`, `operation`,
//! `outcome`) and to the histogram `marula_call_duration_seconds`. Install a recorder of the crate
//! `metrics`, such as that of `metrics-exporter-prometheus`, before the first call.
//!
//! # Events
//!
//! Listeners are functions that the client calls for each event. They must return quickly, because
//! the operation waits for them.
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use std::sync::Arc;
//!
//! use marula::Client;
//! use marula::driver::event::{CommandEvent, EventListener, PoolEvent};
//! use marula::driver::options::ClientOptions;
//!
//! async fn connect(uri: &str, failures: Arc<AtomicUsize>) -> marula::Result<Client> {
//!     let mut options = ClientOptions::parse(uri)?.resolve().await?;
//!     options.app_name = Some("shop".to_owned());
//!     options.command_listener = Some(EventListener::new(move |event: &CommandEvent| match event {
//!         CommandEvent::Succeeded(done) => {
//!             let collection = event.collection_name().unwrap_or("-");
//!             println!("{} {collection}: {:?}", done.command_name, done.duration);
//!         }
//!         CommandEvent::Failed(_) => {
//!             failures.fetch_add(1, Ordering::Relaxed);
//!         }
//!         _ => {}
//!     }));
//!     options.pool_listener = Some(EventListener::new(|event: &PoolEvent| {
//!         if let PoolEvent::PoolCleared { address, .. } = event {
//!             eprintln!("connections to {address} failed");
//!         }
//!     }));
//!     Client::with_options(options)
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = marula_test_server::TestServer::builder().start().await?;
//! # let client = connect(&server.uri(), Arc::default()).await?;
//! # client.driver().list_database_names().await?;
//! # Ok(()) }
//! ```
//!
//! `sdam_listener` receives the changes of servers and of the topology.
//!
//! # OpenTelemetry
//!
//! With the feature `opentelemetry`, the driver creates spans of operations and commands through
//! the API of OpenTelemetry, with the attributes of its semantic conventions for databases. They go
//! to the tracer provider of
//! [`ClientOptions::tracing`](crate::driver::options::ClientOptions::tracing), or to the global
//! one. If the application uses the crate `tracing-opentelemetry`, the spans of typed calls are
//! exported, too: their name is `otel.name`.
//!
//! # Warnings about the configuration
//!
//! An unknown or invalid option of the connection string is ignored, and reported:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> marula::Result<()> {
//! let client = marula::connect("mongodb://localhost/?maxPoolSise=5").await?;
//! assert!(client.warnings()[0].contains("maxPoolSise"));
//! # Ok(()) }
//! ```
