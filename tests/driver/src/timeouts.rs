//! Commands that the server delays, and operations that time out meanwhile.

use std::time::{Duration, Instant};

use marula_driver::{
    Client, Error, ErrorKind,
    bson::{Bson, doc},
};

/// The next `times` commands with these names, or all if it is 0, are delayed, if the application with this
/// name sends them. The empty name stands for all applications.
///
/// # Panics
/// If the fail point is refused.
pub async fn block(client: &Client, commands: &[&str], times: i32, millis: i32, application: &str) {
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

/// Runs an operation that must time out before the server or the network would end it, after `blocked`.
///
/// # Panics
/// If it succeeds, fails with another error, or takes longer.
pub async fn times_out<T>(running: impl Future<Output = Result<T, Error>>, blocked: Duration) -> Error {
    let began = Instant::now();
    let Err(error) = running.await else {
        panic!("the operation did not time out");
    };
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    assert!(error.is_timeout());
    assert!(began.elapsed() < blocked, "{:?}", began.elapsed());
    error
}
