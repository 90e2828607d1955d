//! A server that identifies itself as a mongos and answers every command with `{ok: 1}`.

use std::net::SocketAddr;

use marula_driver::bson::doc;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{read_request, reply_to};

/// Listens on a loopback port until it is dropped.
#[derive(Debug)]
pub struct MockMongos {
    /// The address of the listening socket.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl MockMongos {
    /// Starts the server.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Self { address, task }
    }
}

impl Drop for MockMongos {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream) {
    while let Ok((request, _)) = read_request(&mut stream).await {
        let reply = doc! {
            "ok": 1, "isWritablePrimary": true, "ismaster": true, "helloOk": true, "msg": "isdbgrid",
            "minWireVersion": 0, "maxWireVersion": 25, "maxBsonObjectSize": 16 << 20,
            "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "logicalSessionTimeoutMinutes": 30,
        };
        if stream.write_all(&reply_to(request, &reply)).await.is_err() {
            return;
        }
    }
}
