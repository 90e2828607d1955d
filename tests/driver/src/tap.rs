//! A wire tap: relays messages between a client and a server, records them, and can replace replies
//! of the server.
//!
//! It implements OP_MSG and OP_COMPRESSED itself, and shares no code with the driver.

mod frame;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::bson::Document;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::{JoinHandle, JoinSet},
};

pub use frame::{OP_COMPRESSED, OP_MSG, compressed, compressed_frame};

/// A message as sent over the wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tapped {
    /// The index of the connection, in the order of acceptance.
    pub connection: usize,
    /// The length of the message on the wire in bytes.
    pub length: usize,
    /// The compressor id, if the message is OP_COMPRESSED.
    pub compressor: Option<u8>,
    /// The operation code; for OP_COMPRESSED, the original one.
    pub opcode: i32,
    /// The body (section of kind 0).
    pub body: Document,
    /// The document sequences (sections of kind 1): each identifier with the number of documents.
    pub sequences: Vec<(String, usize)>,
}

impl Tapped {
    /// The first key of the body; for a request, the command name.
    #[must_use]
    pub fn command(&self) -> &str {
        self.body.keys().next().map_or("", String::as_str)
    }

    /// Whether the command is a hello, of a handshake or a monitor.
    #[must_use]
    pub fn is_hello(&self) -> bool {
        matches!(self.command(), "hello" | "isMaster" | "ismaster")
    }
}

/// A reply that is to be sent to the client.
#[derive(Debug)]
#[non_exhaustive]
pub struct Passing<'a> {
    /// The command name of the last request of the connection.
    pub command: &'a str,
    /// Whether the handshake of the connection offered a compressor.
    pub compressible: bool,
    /// The message as received.
    pub bytes: &'a [u8],
    /// The message after decompression.
    pub message: &'a [u8],
}

impl Passing<'_> {
    /// Whether the request was a hello, of a handshake or a monitor.
    #[must_use]
    pub fn is_to_hello(&self) -> bool {
        matches!(self.command, "hello" | "isMaster" | "ismaster")
    }
}

type Rule = Box<dyn FnMut(&Passing<'_>) -> Vec<u8> + Send>;

/// Listens on a loopback port until it is dropped. Dropping it also closes its connections.
#[derive(Debug)]
pub struct WireTap {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    target: SocketAddr,
    rule: Mutex<Rule>,
    requests: Mutex<Vec<Tapped>>,
    replies: Mutex<Vec<Tapped>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WireTap {
    /// Starts a tap in front of `target`.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            target,
            rule: Mutex::new(Box::new(|passing| passing.bytes.to_vec())),
            requests: Mutex::default(),
            replies: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            task,
        }
    }

    /// The address of the listening socket.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A connection string for the tap, with options such as `compressors=zlib`.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!("mongodb://{}/?directConnection=true&{options}", self.address)
    }

    /// Sets the rule that replaces each reply. An empty replacement closes the connection.
    pub fn set_replies(&self, rule: impl FnMut(&Passing<'_>) -> Vec<u8> + Send + 'static) {
        *lock(&self.shared.rule) = Box::new(rule);
    }

    /// Removes the rule: replies are forwarded unchanged.
    pub fn pass_replies(&self) {
        self.set_replies(|passing| passing.bytes.to_vec());
    }

    /// Removes and returns the requests so far.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Tapped> {
        std::mem::take(&mut lock(&self.shared.requests))
    }

    /// Removes and returns the replies so far, as sent by the server.
    #[must_use]
    pub fn take_replies(&self) -> Vec<Tapped> {
        std::mem::take(&mut lock(&self.shared.replies))
    }

    /// Removes all requests, and returns those other than hello.
    #[must_use]
    pub fn take_commands(&self) -> Vec<Tapped> {
        let mut requests = self.take_requests();
        requests.retain(|request| !request.is_hello());
        requests
    }
}

impl Drop for WireTap {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, which closes all connections.
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // If one side closes its connection, both sockets are closed.
            let _ = relay(client, number, &shared).await;
        });
        number += 1;
    }
}

async fn relay(client: TcpStream, number: usize, shared: &Shared) -> io::Result<()> {
    let server = TcpStream::connect(shared.target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let asked = Mutex::default();
    tokio::select! {
        ended = requests(from_client, to_server, number, shared, &asked) => ended,
        ended = replies(from_server, to_client, number, shared, &asked) => ended,
    }
}

/// The last request of a connection.
#[derive(Clone, Default)]
struct Asked {
    command: String,
    offered: bool,
}

async fn requests(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    number: usize,
    shared: &Shared,
    asked: &Mutex<Asked>,
) -> io::Result<()> {
    loop {
        let bytes = read_message(&mut client).await?;
        let tapped = frame::tap(number, &bytes)?.0;
        {
            let mut asked = lock(asked);
            tapped.command().clone_into(&mut asked.command);
            let compression = tapped.body.get_array("compression");
            asked.offered |= compression.is_ok_and(|names| !names.is_empty());
        }
        // Recorded before it is forwarded: a test that has received the reply finds the request.
        lock(&shared.requests).push(tapped);
        server.write_all(&bytes).await?;
    }
}

async fn replies(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    number: usize,
    shared: &Shared,
    asked: &Mutex<Asked>,
) -> io::Result<()> {
    loop {
        let bytes = read_message(&mut server).await?;
        let (tapped, message) = frame::tap(number, &bytes)?;
        lock(&shared.replies).push(tapped);
        let asked = lock(asked).clone();
        let instead = lock(&shared.rule)(&Passing {
            command: &asked.command,
            compressible: asked.offered,
            bytes: &bytes,
            message: &message,
        });
        client.write_all(&instead).await?;
    }
}

async fn read_message(stream: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut message = vec![0; 4];
    stream.read_exact(&mut message).await?;
    let length = message
        .first_chunk()
        .map(|bytes| i32::from_le_bytes(*bytes))
        .unwrap_or_default();
    let rest = u64::try_from(length)
        .ok()
        .and_then(|length| length.checked_sub(4))
        .ok_or(io::ErrorKind::InvalidData)?;
    if stream.take(rest).read_to_end(&mut message).await? as u64 != rest {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
}
