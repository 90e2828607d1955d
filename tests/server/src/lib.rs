//! An in-process, in-memory MongoDB-compatible server for tests.
//!
//! A test starts a [`TestServer`], passes its connection string to any MongoDB client, and drops
//! it: a three-member replica set starts in a few milliseconds, without a container and without
//! files. The server listens on loopback ports, speaks OP_MSG (with compression, TLS and
//! authentication if configured) and runs as one of four deployments at a chosen server version:
//!
//! | deployment | method of [`TestServerBuilder`] | processes |
//! |---|---|---|
//! | standalone (default) | [`standalone`](TestServerBuilder::standalone) | one mongod |
//! | replica set | [`replica_set`](TestServerBuilder::replica_set) | three members, one primary |
//! | sharded cluster | [`sharded`](TestServerBuilder::sharded) | two mongos |
//! | load-balanced cluster | [`load_balanced`] | two mongos, two load balancers |
//!
//! [`load_balanced`]: TestServerBuilder::load_balanced
//!
//! # Examples
//!
//! ```
//! use marula_test_server::TestServer;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TestServer::builder().replica_set().version("7.0.0").start().await?;
//! // mongodb://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/?replicaSet=rs0
//! let uri = server.uri();
//!
//! // Connect any MongoDB client to `uri` and run the test. A failover:
//! let primary = server.primary();
//! assert!(server.step_down());
//! assert_ne!(server.primary(), primary);
//!
//! server.stop().await; // panics if the client violated the protocol
//! # Ok(())
//! # }
//! ```
//!
//! Tests without an async runtime use [`TestServerBuilder::start_blocking`].
//!
//! # Compatibility
//!
//! Commands that the server implements reply as MongoDB does: results, error codes, error labels
//! and version differences. A command, option, aggregation stage or operator of MongoDB that it
//! does not implement fails with error code 238 (`NotImplemented`); a name that MongoDB does not
//! have fails with MongoDB's error for it. The README lists both.
//!
//! The server shares no code with the Marula driver, so its tests are independent of the client
//! under test.
//!
//! # Protocol violations
//!
//! The server records requests that a correct driver does not send, such as one session in two
//! concurrent commands or a message over `maxMessageSizeBytes`. [`TestServer::violations`] returns
//! the records; stopping or dropping a server panics if there are any.
//!
//! All commands are checked, also those that an application composes itself. A driver sends the
//! document of `runCommand` unchanged, so a `readConcern` with a level in an `insert` that a test
//! runs this way is recorded, although the driver is correct. [`TestServer::allow_violations`]
//! excludes rules that a test violates on purpose.

mod aggregate;
mod auth;
mod balancer;
mod builder;
mod change_stream;
mod command;
mod cursor;
mod deployment;
mod encryption;
mod error;
mod events;
mod explain;
mod expression;
mod fail_point;
mod features;
mod geo;
mod index_build;
mod member;
mod net;
mod operations;
mod query;
mod record;
mod refusal;
mod replica_set;
mod runtime;
mod search;
mod server;
mod session;
mod session_info;
mod settings;
mod shard_error;
mod start_error;
mod storage;
mod tail;
mod text;
mod transaction;
mod update;
mod value;
mod version;
mod violation;
mod wire;

pub use auth::gssapi::{GssapiAcceptor, GssapiContext};
pub use auth::oidc::OidcIdentityProvider;
/// The values of [`TestServerBuilder::parameter`].
pub use bson::Bson;
pub use builder::TestServerBuilder;
pub use index_build::HeldIndexBuilds;
pub use net::certificates::{CertificateFiles, TestCertificates};
pub use net::tls::TlsIdentity;
pub use refusal::{Deployments, Refusal, Versions, refusals};
pub use server::TestServer;
pub use shard_error::ShardCollectionError;
pub use start_error::StartError;
pub use value::type_name;
pub use violation::{Violation, ViolationKind};

/// The examples of the README, compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
