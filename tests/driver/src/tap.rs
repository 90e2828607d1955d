//! A wire tap: relays between a client and a server, keeps what both said, whether compressed or not, and can say something
//! else in the server's place.
//!
//! It knows OP_MSG and OP_COMPRESSED by itself, and shares no code with the driver.

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

/// A message as it went over the wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tapped {
    /// Connections are counted from 0 in the order they were accepted.
    pub connection: usize,
    /// Bytes on the wire.
    pub length: usize,
    /// The compressor's number, if it was OP_COMPRESSED.
    pub compressor: Option<u8>,
    /// The operation code, of the message within if it was compressed.
    pub opcode: i32,
    /// The section of kind 0.
    pub body: Document,
    /// The sections of kind 1, without their documents: each name and how many.
    pub sequences: Vec<(String, usize)>,
}

impl Tapped {
    /// The first key of the body: of a request, the command.
    #[must_use]
    pub fn command(&self) -> &str {
        self.body.keys().next().map_or("", String::as_str)
    }

    /// Whether it is a handshake or comes from a monitor.
    #[must_use]
    pub fn is_hello(&self) -> bool {
        matches!(self.command(), "hello" | "isMaster" | "ismaster")
    }
}

/// A reply on its way to the client.
#[derive(Debug)]
#[non_exhaustive]
pub struct Passing<'a> {
    /// The command of the connection's last request.
    pub command: &'a str,
    /// Whether the connection's handshake offered any compressor.
    pub compressible: bool,
    /// As it came.
    pub bytes: &'a [u8],
    /// The message without compression.
    pub message: &'a [u8],
}

impl Passing<'_> {
    /// Whether the request was a handshake or came from a monitor.
    #[must_use]
    pub fn is_to_hello(&self) -> bool {
        matches!(self.command, "hello" | "isMaster" | "ismaster")
    }
}

type Rule = Box<dyn FnMut(&Passing<'_>) -> Vec<u8> + Send>;

/// Listens on loopback until it is dropped, which ends its connections too.
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
    /// A tap on the way to `target`.
    ///
    /// # Panics
    /// When no port can be had.
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

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A connection string for it, with options such as `compressors=zlib`.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!("mongodb://{}/?directConnection=true&{options}", self.address)
    }

    /// Decides from now on what the client gets instead of each reply; nothing ends the connection.
    pub fn set_replies(&self, rule: impl FnMut(&Passing<'_>) -> Vec<u8> + Send + 'static) {
        *lock(&self.shared.rule) = Box::new(rule);
    }

    /// Replies pass as they are from now on.
    pub fn pass_replies(&self) {
        self.set_replies(|passing| passing.bytes.to_vec());
    }

    /// The requests so far, which are forgotten here.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Tapped> {
        std::mem::take(&mut lock(&self.shared.requests))
    }

    /// The replies so far, as the server sent them; they are forgotten here.
    #[must_use]
    pub fn take_replies(&self) -> Vec<Tapped> {
        std::mem::take(&mut lock(&self.shared.replies))
    }

    /// The requests so far that were no hello. All are forgotten.
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
    // Dropped with this task, which ends all connections.
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // An error is one side's hanging up; both sockets are closed then.
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

/// What the client of a connection has said.
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
        // Kept before it is passed on: a test that has the reply finds the request.
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
