//! The server over raw TCP.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod basics;
mod change_streams;
mod client;
mod commands;
mod compression;
mod deployments;
mod explain;
mod sockets;
mod statistics;
mod transactions;
mod users;
