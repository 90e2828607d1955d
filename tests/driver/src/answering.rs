//! A server that answers commands with the replies it is given, and says in hello what it is given.

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

/// Listens on loopback until it is dropped.
#[derive(Debug)]
pub struct AnsweringServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Clone, Debug)]
enum Reply {
    Body(Document),
    /// A header with this message length, and the beginning of the message.
    Claim(i32),
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
    /// A standalone server, unless `hello` says otherwise: its fields are added to the reply to hello, or replace those there.
    ///
    /// # Panics
    /// When no port can be had.
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

    /// A connection string for it.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!("mongodb://{}/?{options}", self.address)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers the next command that has no reply yet with this body, on whatever connection it comes. Without one, commands
    /// are answered with `ok: 1`.
    pub fn answer(&self, body: Document) {
        lock(&self.shared.replies).push_back(Reply::Body(body));
    }

    /// Answers the next command that has no reply yet with the beginning of a message that claims to be so long.
    pub fn claim(&self, length: i32) {
        lock(&self.shared.replies).push_back(Reply::Claim(length));
    }

    /// Forgets the replies that no command has used.
    pub fn forget_replies(&self) {
        lock(&self.shared.replies).clear();
    }

    /// The bodies of the commands that were no hello, with the length of the whole message as `(size)`.
    #[must_use]
    pub fn commands(&self) -> Vec<Document> {
        lock(&self.shared.commands).clone()
    }

    /// Connections accepted, those of monitors among them.
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
            Reply::Claim(length) => {
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
