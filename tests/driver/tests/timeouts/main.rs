//! Client Side Operations Timeout: its prose tests, and what its JSON tests do not cover.

mod cursors;
mod gridfs;
mod handshake;
mod operations;
mod pool;
mod selection;
mod transactions;

use std::time::Duration;

use marula_driver::{Error, ErrorKind, TimeoutError, bson::Document};
use marula_driver_tests::timeouts::block;

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// How long the server delays a command that must time out.
const BLOCKED_MS: i32 = 10_000;

/// Runs an operation that must time out before the server or the network would end it.
async fn times_out<T>(running: impl Future<Output = Result<T, Error>>) -> Error {
    let blocked = Duration::from_millis(BLOCKED_MS.unsigned_abs().into());
    marula_driver_tests::timeouts::times_out(running, blocked).await
}

/// The details of a timeout.
fn timeout_of(error: &Error) -> &TimeoutError {
    match error.kind() {
        ErrorKind::Timeout(timeout) => timeout,
        _ => panic!("another error: {error}"),
    }
}

/// The names of the commands.
fn names(commands: &[Document]) -> Vec<&str> {
    commands
        .iter()
        .filter_map(|command| command.keys().next().map(String::as_str))
        .collect()
}
