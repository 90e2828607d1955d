//! A DNS server with scripted answers, on one loopback port over UDP and TCP.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    task::JoinSet,
};

/// A received query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The whole message.
    pub bytes: Vec<u8>,
    /// Whether it was received over TCP.
    pub over_tcp: bool,
}

/// What the server does with a query.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Sends a message.
    Send(Vec<u8>),
    /// Sends a message from another port. Over UDP only.
    SendFromOtherPort(Vec<u8>),
    /// Sends these bytes without a length prefix, and closes the connection. Over TCP only.
    Write(Vec<u8>),
}

type Script = dyn Fn(&Query) -> Vec<Reply> + Send + Sync;

/// Listens on a loopback port until it is dropped.
#[derive(Debug)]
pub struct NameServer {
    /// The address of both listening sockets.
    pub address: SocketAddr,
    queries: Arc<Mutex<Vec<Query>>>,
    _tasks: JoinSet<()>,
}

impl NameServer {
    /// Starts a server. The script runs for each query.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(script: impl Fn(&Query) -> Vec<Reply> + Send + Sync + 'static) -> Self {
        let (datagrams, connections) = one_port().await;
        let address = datagrams.local_addr().expect("an address");
        let script: Arc<Script> = Arc::new(script);
        let queries = Arc::<Mutex<Vec<Query>>>::default();
        let mut tasks = JoinSet::new();
        let ask = {
            let queries = Arc::clone(&queries);
            move |bytes: &[u8], over_tcp| {
                let query = Query {
                    bytes: bytes.to_vec(),
                    over_tcp,
                };
                let replies = script(&query);
                queries.lock().unwrap_or_else(PoisonError::into_inner).push(query);
                replies
            }
        };
        tasks.spawn(answer_datagrams(datagrams, ask.clone()));
        tasks.spawn(answer_connections(connections, ask));
        Self {
            address,
            queries,
            _tasks: tasks,
        }
    }

    /// A server that never answers.
    pub async fn silent() -> Self {
        Self::start(|_| Vec::new()).await
    }

    /// The queries received so far.
    #[must_use]
    pub fn queries(&self) -> Vec<Query> {
        self.queries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Binds a UDP socket and a TCP listener to the same port.
async fn one_port() -> (UdpSocket, TcpListener) {
    loop {
        let connections = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = connections.local_addr().expect("an address");
        if let Ok(datagrams) = UdpSocket::bind(address).await {
            return (datagrams, connections);
        }
    }
}

async fn answer_datagrams(socket: UdpSocket, ask: impl Fn(&[u8], bool) -> Vec<Reply>) {
    let elsewhere = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let mut packet = [0; 2048];
    while let Ok((length, peer)) = socket.recv_from(&mut packet).await {
        for reply in ask(&packet[..length], false) {
            // The client may have closed its socket.
            let _ = match reply {
                Reply::Send(message) => socket.send_to(&message, peer).await,
                Reply::SendFromOtherPort(message) => elsewhere.send_to(&message, peer).await,
                Reply::Write(_) => panic!("Reply::Write is for TCP only"),
            };
        }
    }
}

async fn answer_connections(listener: TcpListener, ask: impl Fn(&[u8], bool) -> Vec<Reply> + Clone) {
    while let Ok((stream, _)) = listener.accept().await {
        // The client may close the connection at any time.
        let _ = answer_connection(stream, &ask).await;
    }
}

async fn answer_connection(
    mut stream: TcpStream,
    ask: &impl Fn(&[u8], bool) -> Vec<Reply>,
) -> std::io::Result<()> {
    loop {
        let mut query = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut query).await?;
        for reply in ask(&query, true) {
            match reply {
                Reply::Send(message) => {
                    let length = u16::try_from(message.len()).expect("a length of two bytes");
                    stream
                        .write_all(&[&length.to_be_bytes(), message.as_slice()].concat())
                        .await?;
                }
                Reply::Write(bytes) => {
                    stream.write_all(&bytes).await?;
                    return stream.shutdown().await;
                }
                Reply::SendFromOtherPort(_) => panic!("Reply::SendFromOtherPort is for UDP only"),
            }
        }
    }
}

impl Query {
    /// The offset of the end of the question section: name, type and class.
    ///
    /// # Panics
    /// If the question has no name.
    #[must_use]
    pub fn end(&self) -> usize {
        let name = self.bytes[12..].iter().position(|byte| *byte == 0);
        12 + name.expect("a name without pointers") + 5
    }

    /// A reply without records.
    #[must_use]
    pub fn reply(&self, code: u8) -> Vec<u8> {
        let mut reply = self.bytes[..self.end()].to_vec();
        // Flags: response, recursion desired, recursion available; one question and no records.
        reply[2..12].copy_from_slice(&[0x81, 0x80 | code, 0, 1, 0, 0, 0, 0, 0, 0]);
        reply
    }

    /// A reply with SRV records for these ports, all with the target `a.example.com`.
    #[must_use]
    pub fn srv(&self, ports: impl IntoIterator<Item = u16>) -> Vec<u8> {
        let data = |port: u16| {
            [
                &[0, 0, 0, 5],
                &port.to_be_bytes()[..],
                b"\x01a\x07example\x03com\x00",
            ]
            .concat()
        };
        ports
            .into_iter()
            .fold(self.reply(0), |reply, port| with_record(reply, 33, &data(port)))
    }
}

/// Appends a record for the queried name with a TTL of 300 seconds.
///
/// # Panics
/// If the data has more than 65,535 bytes.
#[must_use]
pub fn with_record(mut reply: Vec<u8>, kind: u16, data: &[u8]) -> Vec<u8> {
    let count = u16::from_be_bytes([reply[6], reply[7]]) + 1;
    reply[6..8].copy_from_slice(&count.to_be_bytes());
    reply.extend([0xC0, 12]);
    reply.extend(kind.to_be_bytes());
    reply.extend([0, 1, 0, 0, 1, 44]);
    reply.extend(
        u16::try_from(data.len())
            .expect("a length of two bytes")
            .to_be_bytes(),
    );
    reply.extend(data);
    reply
}
