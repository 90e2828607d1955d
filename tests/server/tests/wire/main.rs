//! Tests of the server over raw TCP.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod basics;
mod change_streams;
mod client;
mod commands;
mod compression;
mod cursors;
mod definitions;
mod deployments;
mod encryption;
mod explain;
mod features;
mod queries;
mod refusals;
mod rules;
mod scram;
mod search;
mod sockets;
mod statistics;
mod system;
mod transaction_conflicts;
mod transactions;
mod users;
mod views;
