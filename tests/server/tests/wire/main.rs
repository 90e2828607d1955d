//! The server over raw TCP.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod basics;
mod change_streams;
mod client;
mod commands;
mod compression;
mod deployments;
mod explain;
mod features;
mod scram;
mod sockets;
mod statistics;
mod system;
mod transactions;
mod users;
mod views;
