//! A server that answers commands with configured replies, and has a configurable hello reply.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver::bson::{Document, doc};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{read_request, reply_to};

/// Listens on a loopback port until it is dropped.
#[derive(Debug)]
pub struct AnsweringServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Clone, Debug)]
enum Reply {
    Body(Document),
    /// A header with this `messageLength`, and the beginning of the message.
    Length(i32),
}

#[derive(Debug)]
struct Shared {
    hello: Document,
    replies: Mutex<VecDeque<Reply>>,
    commands: Mutex<Vec<Document>>,
    connections: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AnsweringServer {
    /// Starts a standalone server. The fields of `hello` are added to the hello reply, or replace
    /// its fields.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(hello: Document) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut whole = doc! {
            "ok": 1, "isWritablePrimary": true, "helloOk": true, "minWireVersion": 0, "maxWireVersion": 25,
            "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
            "logicalSessionTimeoutMinutes": 30,
        };
        whole.extend(hello);
        let shared = Arc::new(Shared {
            hello: whole,
            replies: Mutex::default(),
            commands: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self {
            address,
            shared,
            task,
        }
    }

    /// A connection string for this server.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!("mongodb://{}/?{options}", self.address)
    }

    /// The address of the listening socket.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Queues a reply. Each command takes the oldest queued reply, on any connection; if the queue
    /// is empty, the reply is `{ok: 1}`.
    pub fn answer(&self, body: Document) {
        lock(&self.shared.replies).push_back(Reply::Body(body));
    }

    /// Queues a reply whose header has this `messageLength`, and of which only the beginning is
    /// sent.
    pub fn answer_with_length(&self, length: i32) {
        lock(&self.shared.replies).push_back(Reply::Length(length));
    }

    /// Removes the queued replies that no command has used.
    pub fn clear_replies(&self) {
        lock(&self.shared.replies).clear();
    }

    /// The bodies of the commands other than hello, each with the length of the whole message as
    /// `(size)`.
    #[must_use]
    pub fn commands(&self) -> Vec<Document> {
        lock(&self.shared.commands).clone()
    }

    /// The number of accepted connections, including those of monitors.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for AnsweringServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    loop {
        // The length is the first field of the message.
        let mut length = [0; 4];
        let peeked = async {
            loop {
                match stream.peek(&mut length).await {
                    Ok(4) => return true,
                    Ok(0) | Err(_) => return false,
                    Ok(_) => tokio::task::yield_now().await,
                }
            }
        };
        if !peeked.await {
            return;
        }
        let Ok((request, mut command)) = read_request(&mut stream).await else {
            return;
        };
        let name = command.keys().next().map(String::as_str).unwrap_or_default();
        let reply = if matches!(name, "hello" | "isMaster" | "ismaster") {
            Reply::Body(shared.hello.clone())
        } else {
            command.insert("(size)", i32::from_le_bytes(length));
            lock(&shared.commands).push(command);
            lock(&shared.replies)
                .pop_front()
                .unwrap_or_else(|| Reply::Body(doc! { "ok": 1 }))
        };
        let bytes = match reply {
            Reply::Body(body) => reply_to(request, &body),
            Reply::Length(length) => {
                let mut bytes = reply_to(request, &doc! { "ok": 1 });
                bytes[..4].copy_from_slice(&length.to_le_bytes());
                bytes
            }
        };
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
