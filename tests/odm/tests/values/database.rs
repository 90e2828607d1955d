//! A database of a test.

use marula::{Client, Collection, Database, Model};
use marula_test_server::TestServer;

pub(crate) struct Env {
    pub(crate) db: Database,
    client: Client,
    server: Option<TestServer>,
}

impl Env {
    /// Starts a server, or connects to `MONGODB_URI`.
    pub(crate) async fn open() -> Env {
        let server = match std::env::var("MONGODB_URI") {
            Ok(_) => None,
            Err(_) => Some(TestServer::builder().standalone().start().await.unwrap()),
        };
        let uri = server.as_ref().map_or_else(
            || std::env::var("MONGODB_URI").unwrap_or_default(),
            TestServer::uri,
        );
        let client = marula::connect(uri).await.unwrap();
        let db = client.database(&format!("marula_{}", uuid::Uuid::now_v7().simple()));
        Env { db, client, server }
    }

    pub(crate) fn collection<D: Model>(&self) -> Collection<D> {
        self.db.collection()
    }

    pub(crate) async fn close(self) {
        self.db.driver().drop().await.unwrap();
        self.client.shutdown().await;
        drop(self.server);
    }
}
