//! A server whose replies are chosen by the test for each command, and that records the requests.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use marula_driver::bson::{Document, doc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use crate::{
    reply_to,
    wire::{frame, read_whole_request},
};

/// A received command.
#[derive(Clone, Debug)]
pub struct Request {
    /// The index of the connection, in the order of acceptance.
    pub connection: usize,
    /// The length of the whole message in bytes.
    pub size: usize,
    /// The command, with its document sequences as arrays.
    pub command: Document,
}

impl Request {
    /// The name of the command.
    #[must_use]
    pub fn name(&self) -> &str {
        self.command.keys().next().map_or("", String::as_str)
    }

    /// Whether this is a hello, of a handshake or a monitor.
    #[must_use]
    pub fn is_hello(&self) -> bool {
        matches!(self.name(), "hello" | "isMaster" | "ismaster")
    }

    /// The field `lsid`.
    #[must_use]
    pub fn lsid(&self) -> Option<Document> {
        self.command.get_document("lsid").ok().cloned()
    }
}

/// What the server does with a command.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Sends the server's description in reply to a hello, and `{ok: 1}` to any other command.
    Success,
    /// Sends this reply.
    Reply(Document),
    /// Sends a reply of these bytes, which need not be a well-formed document.
    Bytes(Vec<u8>),
    /// Closes the connection.
    Close,
    /// Sends no reply until the client closes the connection.
    Silence,
}

/// The time limit for waits, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);

type Script = Box<dyn FnMut(&Request) -> Answer + Send>;

struct Shared {
    hello: Document,
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    closed: AtomicUsize,
    changes: watch::Sender<()>,
}

/// Listens on a loopback port until it is dropped. Dropping it also closes its connections.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl std::fmt::Debug for ScriptedServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ScriptedServer {
    /// Starts a server that describes itself as a mongos without sessions. The fields of `hello`
    /// replace fields of the description, or are added.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(hello: Document, script: impl FnMut(&Request) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut description = doc! {
            "ok": 1, "isWritablePrimary": true, "ismaster": true, "helloOk": true, "msg": "isdbgrid",
            "minWireVersion": 0, "maxWireVersion": 25, "maxBsonObjectSize": 16 << 20,
            "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
        };
        description.extend(hello);
        let shared = Arc::new(Shared {
            hello: description,
            script: Mutex::new(Box::new(script)),
            requests: Mutex::default(),
            closed: AtomicUsize::new(0),
            changes: watch::Sender::new(()),
        });
        let server = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            let mut accepted = 0;
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, accepted, Arc::clone(&server)));
                accepted += 1;
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

    /// All commands so far, without handshakes and monitoring checks.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        let requests = lock(&self.shared.requests);
        requests
            .iter()
            .filter(|request| !request.is_hello())
            .cloned()
            .collect()
    }

    /// All commands so far with this name.
    #[must_use]
    pub fn requests_named(&self, name: &str) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.name() == name);
        requests
    }

    /// Waits until `count` commands of this name have been received, and returns them.
    ///
    /// # Panics
    /// If they are not received in time.
    pub async fn wait_for(&self, name: &str, count: usize) -> Vec<Request> {
        self.wait_until(|server| {
            let requests = server.requests_named(name);
            (requests.len() >= count).then_some(requests)
        })
        .await
    }

    /// Waits until `count` connections have been closed.
    ///
    /// # Panics
    /// If they are not closed in time.
    pub async fn wait_for_closed(&self, count: usize) {
        self.wait_until(|server| (server.shared.closed.load(Ordering::SeqCst) >= count).then_some(()))
            .await;
    }

    async fn wait_until<T>(&self, look: impl Fn(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        let seen = async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = look(self) {
                    return found;
                }
                changes.changed().await.expect("the server holds the sender");
            }
        };
        match tokio::time::timeout(TIME_LIMIT, seen).await {
            Ok(found) => found,
            Err(_) => panic!("the expected requests were not received: {:?}", self.requests()),
        }
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, connection: usize, shared: Arc<Shared>) {
    while let Ok((id, size, command)) = read_whole_request(&mut stream).await {
        let request = Request {
            connection,
            size,
            command,
        };
        let answer = (lock(&shared.script))(&request);
        let is_hello = request.is_hello();
        lock(&shared.requests).push(request);
        shared.changes.send_replace(());
        let reply = match answer {
            Answer::Success if is_hello => reply_to(id, &shared.hello),
            Answer::Success => reply_to(id, &doc! { "ok": 1 }),
            Answer::Reply(reply) => reply_to(id, &reply),
            Answer::Bytes(body) => frame(id, &body),
            Answer::Close => break,
            Answer::Silence => {
                let mut sink = [0; 1024];
                while matches!(stream.read(&mut sink).await, Ok(count) if count > 0) {}
                break;
            }
        };
        if stream.write_all(&reply).await.is_err() {
            break;
        }
    }
    drop(stream);
    shared.closed.fetch_add(1, Ordering::SeqCst);
    shared.changes.send_replace(());
}
