//! The deployment that an example uses.

use std::{env, error::Error, time::Duration};

use marula::{Client, Database};
use marula_test_server::TestServer;

/// The deployment of `MONGODB_URI`, or an in-process replica set, which does not persist data.
pub struct Deployment {
    /// A client of the deployment.
    pub client: Client,
    /// The in-process replica set; `None` with `MONGODB_URI`.
    pub server: Option<TestServer>,
}

impl Deployment {
    /// Starts the replica set, or connects to `MONGODB_URI`.
    ///
    /// # Errors
    /// The server cannot be started, or the connection string is invalid.
    pub async fn start() -> Result<Self, Box<dyn Error>> {
        let (uri, server) = match env::var("MONGODB_URI") {
            Ok(uri) => (uri, None),
            Err(_) => {
                let server = TestServer::builder().replica_set().start().await?;
                (server.uri(), Some(server))
            }
        };
        let client = marula::connect(&uri).await?;
        Ok(Deployment { client, server })
    }

    /// A database of this name, which is dropped first.
    ///
    /// # Errors
    /// The deployment cannot be reached.
    pub async fn empty_database(&self, name: &str) -> marula::Result<Database> {
        let database = self.client.database(name);
        database.driver().drop().await?;
        Ok(database)
    }

    /// Shuts down the client, and stops the in-process replica set.
    pub async fn stop(self) {
        self.client.shutdown().deadline(Duration::from_secs(10)).await;
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}
