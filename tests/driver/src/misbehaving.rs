//! A server that answers the handshake correctly and then breaks the protocol in one configured
//! way.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver::bson::{Document, doc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{read_request, reply_to, wire::frame};

/// The fault, which occurs once per connection, on the first command other than hello.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Sends the first bytes of a correct reply, then closes the connection.
    CutAt(usize),
    /// Sends these bytes instead of a reply.
    Bytes(Vec<u8>),
    /// Sends no reply.
    Silence,
    /// Sends a correct message with this body.
    Reply(Document),
    /// Sends a correct message with these bytes as its body, for every command.
    Body(Vec<u8>),
    /// Sends a correct reply, followed by these bytes.
    Surplus(Vec<u8>),
    /// Sends the beginning of a reply, then closes the connection.
    Claim {
        /// `messageLength` in the header.
        length: i32,
        /// The number of bytes that follow the header.
        sent: usize,
    },
    /// Sends these bytes instead of the reply to the handshake.
    BytesAtHandshake(Vec<u8>),
    /// Closes the connection instead of replying to the handshake.
    CloseAtHandshake,
    /// Accepts connections and sends no reply, not even to the handshake.
    SilenceAtHandshake,
}

/// Listens on a loopback port until it is dropped.
#[derive(Debug)]
pub struct MisbehavingServer {
    address: SocketAddr,
    commands: Arc<AtomicUsize>,
    accepted: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl MisbehavingServer {
    /// Starts a server with this fault.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let commands = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::new(AtomicUsize::new(0));
        let (seen, accepted_count) = (Arc::clone(&commands), Arc::clone(&accepted));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted_count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, fault.clone(), Arc::clone(&seen)));
            }
        });
        Self {
            address,
            commands,
            accepted,
            task,
        }
    }

    /// A connection string for this server.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!("mongodb://{}/?{options}", self.address)
    }

    /// The number of accepted connections, including those of monitors.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// The number of commands received, other than hello.
    #[must_use]
    pub fn commands(&self) -> usize {
        self.commands.load(Ordering::SeqCst)
    }
}

impl Drop for MisbehavingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn hello() -> Document {
    doc! {
        "ok": 1, "isWritablePrimary": true, "ismaster": true, "helloOk": true, "minWireVersion": 0, "maxWireVersion": 25,
        "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
    }
}

async fn serve(mut stream: TcpStream, fault: Fault, commands: Arc<AtomicUsize>) {
    while let Ok((request, command)) = read_request(&mut stream).await {
        let name = command.keys().next().map(String::as_str).unwrap_or_default();
        if matches!(name, "hello" | "isMaster" | "ismaster") {
            match &fault {
                Fault::BytesAtHandshake(bytes) => {
                    let _ = stream.write_all(bytes).await;
                    return wait_for_end(stream).await;
                }
                Fault::CloseAtHandshake => return,
                Fault::SilenceAtHandshake => return wait_for_end(stream).await,
                _ => {}
            }
            if stream.write_all(&reply_to(request, &hello())).await.is_err() {
                return;
            }
            continue;
        }
        commands.fetch_add(1, Ordering::SeqCst);
        let proper = reply_to(request, &doc! { "ok": 1, "filler": "x".repeat(40) });
        match &fault {
            Fault::CutAt(count) => {
                let _ = stream.write_all(proper.get(..*count).unwrap_or(&proper)).await;
                return;
            }
            Fault::Bytes(bytes) => {
                let _ = stream.write_all(bytes).await;
                return wait_for_end(stream).await;
            }
            Fault::Reply(body) => {
                if stream.write_all(&reply_to(request, body)).await.is_err() {
                    return;
                }
            }
            Fault::Body(body) => {
                if stream.write_all(&frame(request, body)).await.is_err() {
                    return;
                }
            }
            Fault::Surplus(surplus) => {
                if stream.write_all(&[&proper, &surplus[..]].concat()).await.is_err() {
                    return;
                }
            }
            Fault::Claim { length, sent } => {
                let mut bytes = frame(request, &vec![0; sent.saturating_sub(5)]);
                bytes[..4].copy_from_slice(&length.to_le_bytes());
                let _ = stream.write_all(&bytes).await;
                return;
            }
            _ => return wait_for_end(stream).await,
        }
    }
}

/// Keeps the connection open until the driver closes it.
async fn wait_for_end(mut stream: TcpStream) {
    let mut sink = [0; 1024];
    while matches!(stream.read(&mut sink).await, Ok(count) if count > 0) {}
}
