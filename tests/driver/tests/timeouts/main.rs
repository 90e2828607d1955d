//! Client Side Operations Timeout: its prose tests, and what its JSON tests do not cover.

mod cursors;
mod gridfs;
mod handshake;
mod operations;
mod pool;
mod selection;
mod transactions;

use std::time::{Duration, Instant};

use marula_driver::{
    Client, Error, ErrorKind, TimeoutError,
    bson::{Bson, Document, doc},
};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// How long the server delays a command that must time out.
const BLOCKED_MS: i32 = 10_000;

/// The next `times` commands with these names, sent by the application with this name if it is not
/// empty, are delayed.
async fn block(client: &Client, commands: &[&str], times: i32, millis: i32, application: &str) {
    let names: Vec<Bson> = commands.iter().map(|name| Bson::from(*name)).collect();
    let mut data = doc! { "failCommands": names, "blockConnection": true, "blockTimeMS": millis };
    if !application.is_empty() {
        data.insert("appName", application);
    }
    let mode = if times == 0 {
        Bson::from("alwaysOn")
    } else {
        doc! { "times": times }.into()
    };
    let point = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    let admin = client.database("admin");
    admin.run_command(point).await.expect("a fail point");
}

/// Runs an operation that must time out before the server or the network would end it.
async fn times_out<T>(running: impl Future<Output = Result<T, Error>>) -> Error {
    let began = Instant::now();
    let Err(error) = running.await else {
        panic!("the operation did not time out");
    };
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
    assert!(error.is_timeout());
    let blocked = Duration::from_millis(BLOCKED_MS.unsigned_abs().into());
    assert!(began.elapsed() < blocked, "{:?}", began.elapsed());
    error
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
