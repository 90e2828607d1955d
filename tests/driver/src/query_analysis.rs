//! A stand-in for mongocryptd: a server whose replies are those of `marula-query-analysis`.

use std::net::SocketAddr;

use marula_driver::bson::{Document, doc};
use marula_query_analysis::{Rejection, analyze};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{crypt_shared, reply_to, wire::read_whole_request};

/// Listens on a loopback port until it is dropped.
#[derive(Debug)]
pub struct QueryAnalysis {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl QueryAnalysis {
    /// Starts the server.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start() -> Self {
        Self::with_wire_version(27).await
    }

    /// Starts the server with its `maxWireVersion`, which determines whether several collections are supported.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn with_wire_version(version: i32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, version));
            }
        });
        Self { address, task }
    }

    /// `extraOptions` of a client whose commands are analyzed here; by the library `crypt_shared`, which alone is then allowed, if
    /// the environment variable [`crypt_shared::VARIABLE`] is set.
    ///
    /// # Panics
    /// If the library is wanted and not built.
    #[must_use]
    pub fn extra_options(&self) -> Document {
        if crypt_shared::is_used() {
            crypt_shared::extra_options()
        } else {
            doc! { "mongocryptdURI": self.uri(), "mongocryptdBypassSpawn": true }
        }
    }

    /// The connection string, for `mongocryptdURI`.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("mongodb://{}", self.address)
    }
}

impl Drop for QueryAnalysis {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, version: i32) {
    while let Ok((id, _, command)) = read_whole_request(&mut stream).await {
        if stream
            .write_all(&reply_to(id, &reply(command, version)))
            .await
            .is_err()
        {
            return;
        }
    }
}

/// The reply to a command.
fn reply(command: Document, version: i32) -> Document {
    let name = command.keys().next().map(String::as_str).unwrap_or_default();
    match name {
        "hello" | "isMaster" | "ismaster" => doc! {
            "ok": 1.0, "isWritablePrimary": true, "ismaster": true, "helloOk": true, "iscryptd": true,
            "minWireVersion": 0, "maxWireVersion": version, "maxBsonObjectSize": 16 << 20,
            "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
        },
        _ => analyze(command).unwrap_or_else(Rejection::reply),
    }
}
