//! A server that records requests, and answers all of them with success.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::bson::{Document, doc};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{read_request, reply_to};

/// The requests of one connection. The first is the handshake.
type Requests = Arc<Mutex<Vec<Document>>>;

/// A standalone server on a loopback port, until it is dropped.
#[derive(Debug)]
pub struct Observer {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Requests>>>,
    refusals: Arc<Mutex<BTreeMap<String, Document>>>,
    task: JoinHandle<()>,
}

impl Observer {
    /// Starts a server whose hello replies also have the fields of `extra`.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(extra: Document) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let connections: Arc<Mutex<Vec<Requests>>> = Arc::default();
        let kept = Arc::clone(&connections);
        let refusals = Arc::<Mutex<BTreeMap<String, Document>>>::default();
        let refused = Arc::clone(&refusals);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let requests = Requests::default();
                lock(&kept).push(Arc::clone(&requests));
                tokio::spawn(serve(stream, requests, extra.clone(), Arc::clone(&refused)));
            }
        });
        Self {
            address,
            connections,
            refusals,
            task,
        }
    }

    /// Replaces the reply to this command.
    pub fn refuse(&self, command: &str, reply: Document) {
        lock(&self.refusals).insert(command.to_owned(), reply);
    }

    /// A connection string for this server.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!("mongodb://{}/?{options}", self.address)
    }

    /// All requests so far, by connection, including those of monitors.
    #[must_use]
    pub fn requests(&self) -> Vec<Vec<Document>> {
        let connections = lock(&self.connections);
        connections
            .iter()
            .map(|requests| lock(requests).clone())
            .collect()
    }

    /// The handshakes of the connections that sent this command, in the order of the connections.
    #[must_use]
    pub fn handshakes_of(&self, command: &str) -> Vec<Document> {
        let carried = |requests: &Vec<Document>| requests.iter().any(|request| name(request) == command);
        self.requests()
            .into_iter()
            .filter(carried)
            .filter_map(|requests| requests.into_iter().next())
            .collect()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of the command.
fn name(request: &Document) -> &str {
    request.keys().next().map_or("", String::as_str)
}

async fn serve(
    mut stream: TcpStream,
    requests: Requests,
    extra: Document,
    refusals: Arc<Mutex<BTreeMap<String, Document>>>,
) {
    while let Ok((id, request)) = read_request(&mut stream).await {
        let mut reply = doc! { "ok": 1 };
        if matches!(name(&request), "hello" | "isMaster") {
            reply.extend(doc! {
                "isWritablePrimary": true, "ismaster": true, "minWireVersion": 0, "maxWireVersion": 25,
                "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
            });
            reply.extend(extra.clone());
        }
        if let Some(refusal) = lock(&refusals).get(name(&request)) {
            reply = refusal.clone();
        }
        lock(&requests).push(request);
        if stream.write_all(&reply_to(id, &reply)).await.is_err() {
            return;
        }
    }
}
