//! An in-process, in-memory MongoDB-compatible server for tests, examples and other clients.
//!
//! It speaks OP_MSG on loopback ports, encrypted if it is given a certificate, and plays a standalone, a three-member replica set, a sharded cluster of two mongos or such a
//! cluster behind load balancers, at a chosen server version. Transactions, change streams and fail points are served on all of them
//! that can have them.
//! Where it answers it behaves as MongoDB does; what it does not have it refuses with a typed error, never with a silent
//! wrong answer. Nothing is stored on disk.
//!
//! It records what no driver may send, such as a session in two commands at a time or a message that is too large, and dropping the
//! server fails a test in which that happened: see [`TestServer::violations`].
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! let server = marula_test_server::TestServer::builder().replica_set().version("8.2.0").start().await?;
//! println!("{}", server.uri());
//! # Ok(())
//! # }
//! ```

mod aggregate;
mod auth;
mod balancer;
mod builder;
mod change_stream;
mod command;
mod cursor;
mod deployment;
mod error;
mod events;
mod explain;
mod expression;
mod fail_point;
mod features;
mod member;
mod net;
mod operations;
mod query;
mod replica_set;
mod server;
mod session;
mod session_info;
mod settings;
mod storage;
mod tail;
mod transaction;
mod update;
mod value;
mod version;
mod violation;
mod wire;

pub use builder::TestServerBuilder;
pub use net::certificates::{CertificateFiles, SelfMadeCertificates};
pub use net::tls::TlsIdentity;
pub use server::TestServer;
pub use violation::{Violation, ViolationKind};
