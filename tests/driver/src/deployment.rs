//! An in-process deployment with a client connected to it.

use std::sync::atomic::{AtomicUsize, Ordering};

use marula_driver::{Client, Collection, Database};
use marula_test_server::TestServer;

/// A running server or replica set, and a client.
#[derive(Debug)]
pub struct Deployment {
    /// The server; it stops when this value is dropped.
    pub server: TestServer,
    /// A client connected to the server.
    pub client: Client,
}

/// A fresh standalone server.
///
/// # Panics
/// If it cannot start.
pub async fn standalone() -> Deployment {
    Deployment::of(
        TestServer::builder()
            .standalone()
            .start()
            .await
            .expect("the server starts"),
        "",
    )
    .await
}

/// A fresh replica set of three members.
///
/// # Panics
/// If it cannot start.
pub async fn replica_set() -> Deployment {
    Deployment::of(
        TestServer::builder()
            .replica_set()
            .start()
            .await
            .expect("the set starts"),
        "",
    )
    .await
}

impl Deployment {
    /// Connects a client to this server, with options appended to its connection string.
    ///
    /// # Panics
    /// If the connection string is refused.
    pub async fn of(server: TestServer, options: &str) -> Self {
        let client = connect(&server, options).await;
        Self { server, client }
    }

    /// Another client, with options such as `maxPoolSize=1` appended to the connection string.
    pub async fn client_with(&self, options: &str) -> Client {
        connect(&self.server, options).await
    }

    /// A database that no other test uses.
    #[must_use]
    pub fn database(&self) -> Database {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        self.client
            .database(&format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// A collection in a database that no other test uses.
    #[must_use]
    pub fn collection<T>(&self) -> Collection<T> {
        self.database().collection("things")
    }
}

async fn connect(server: &TestServer, options: &str) -> Client {
    let uri = server.uri();
    let separator = if uri.contains('?') { '&' } else { '?' };
    Client::connect(format!("{uri}{separator}{options}"))
        .await
        .expect("a valid connection string")
}
