//! A model, and an in-process server for each test.

use marula::{Client, Collection, Document, Embedded};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

/// A value that must not be in a span or metric.
pub(crate) const SECRET: &str = "hunter2";

#[derive(Debug, Serialize, Deserialize, Embedded)]
pub(crate) struct Device {
    pub(crate) token: String,
    pub(crate) uses: i64,
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "accounts")]
pub(crate) struct Account {
    pub(crate) _id: i64,
    pub(crate) password: String,
    pub(crate) devices: Vec<Device>,
}

/// An account with this id.
pub(crate) fn account(id: i64) -> Account {
    Account {
        _id: id,
        password: SECRET.to_owned(),
        devices: vec![Device {
            token: SECRET.to_owned(),
            uses: 1,
        }],
    }
}

/// A server, its client, and the collection of accounts.
pub(crate) async fn accounts() -> (TestServer, Client, Collection<Account>) {
    let server = TestServer::builder().standalone().start().await;
    let server = server.expect("the test server starts");
    let client = marula::connect(server.uri())
        .await
        .expect("a valid connection string");
    let accounts = client.database("observed").collection();
    (server, client, accounts)
}
