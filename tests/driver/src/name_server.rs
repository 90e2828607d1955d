//! A name server with scripted answers, over UDP and TCP on one port of loopback.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    task::JoinSet,
};

/// What a server got.
#[derive(Clone, Debug)]
pub struct Question {
    /// The whole message.
    pub bytes: Vec<u8>,
    /// How it came.
    pub over_tcp: bool,
}

/// What a server does.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends a message.
    Say(Vec<u8>),
    /// Sends a message from another port. Over UDP only.
    SayFromElsewhere(Vec<u8>),
    /// Sends these bytes as they are, and closes the connection. Over TCP only.
    Write(Vec<u8>),
}

type Script = dyn Fn(&Question) -> Vec<Act> + Send + Sync;

/// Listens until it is dropped.
#[derive(Debug)]
pub struct NameServer {
    /// Where.
    pub address: SocketAddr,
    questions: Arc<Mutex<Vec<Question>>>,
    _tasks: JoinSet<()>,
}

impl NameServer {
    /// Starts a server. The script is run for each question.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(script: impl Fn(&Question) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let (datagrams, connections) = one_port().await;
        let address = datagrams.local_addr().expect("an address");
        let script: Arc<Script> = Arc::new(script);
        let questions = Arc::<Mutex<Vec<Question>>>::default();
        let mut tasks = JoinSet::new();
        let ask = {
            let questions = Arc::clone(&questions);
            move |bytes: &[u8], over_tcp| {
                let question = Question {
                    bytes: bytes.to_vec(),
                    over_tcp,
                };
                let acts = script(&question);
                questions
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(question);
                acts
            }
        };
        tasks.spawn(answer_datagrams(datagrams, ask.clone()));
        tasks.spawn(answer_connections(connections, ask));
        Self {
            address,
            questions,
            _tasks: tasks,
        }
    }

    /// A server that never says anything.
    pub async fn silent() -> Self {
        Self::start(|_| Vec::new()).await
    }

    /// All that came so far.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A port that is free for both.
async fn one_port() -> (UdpSocket, TcpListener) {
    loop {
        let connections = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = connections.local_addr().expect("an address");
        if let Ok(datagrams) = UdpSocket::bind(address).await {
            return (datagrams, connections);
        }
    }
}

async fn answer_datagrams(socket: UdpSocket, ask: impl Fn(&[u8], bool) -> Vec<Act>) {
    let elsewhere = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let mut packet = [0; 2048];
    while let Ok((length, peer)) = socket.recv_from(&mut packet).await {
        for act in ask(&packet[..length], false) {
            // A client that is gone needs no answer.
            let _ = match act {
                Act::Say(message) => socket.send_to(&message, peer).await,
                Act::SayFromElsewhere(message) => elsewhere.send_to(&message, peer).await,
                Act::Write(_) => panic!("a datagram has no bytes beside its message"),
            };
        }
    }
}

async fn answer_connections(listener: TcpListener, ask: impl Fn(&[u8], bool) -> Vec<Act> + Clone) {
    while let Ok((stream, _)) = listener.accept().await {
        // A client that hangs up needs no answer.
        let _ = answer_connection(stream, &ask).await;
    }
}

async fn answer_connection(
    mut stream: TcpStream,
    ask: &impl Fn(&[u8], bool) -> Vec<Act>,
) -> std::io::Result<()> {
    loop {
        let mut question = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut question).await?;
        for act in ask(&question, true) {
            match act {
                Act::Say(message) => {
                    let length = u16::try_from(message.len()).expect("a length of two bytes");
                    stream
                        .write_all(&[&length.to_be_bytes(), message.as_slice()].concat())
                        .await?;
                }
                Act::Write(bytes) => {
                    stream.write_all(&bytes).await?;
                    return stream.shutdown().await;
                }
                Act::SayFromElsewhere(_) => panic!("a connection has one other end"),
            }
        }
    }
}

impl Question {
    /// Where the question itself ends: the name, the type, the class.
    ///
    /// # Panics
    /// When it has no name.
    #[must_use]
    pub fn end(&self) -> usize {
        let name = self.bytes[12..].iter().position(|byte| *byte == 0);
        12 + name.expect("a name without pointers") + 5
    }

    /// A reply without records.
    #[must_use]
    pub fn reply(&self, code: u8) -> Vec<u8> {
        let mut reply = self.bytes[..self.end()].to_vec();
        // A reply, recursion desired and available; one question and nothing else.
        reply[2..12].copy_from_slice(&[0x81, 0x80 | code, 0, 1, 0, 0, 0, 0, 0, 0]);
        reply
    }

    /// A reply with SRV records of these ports, all of the host `a.example.com`.
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

/// The reply with one more record, of the name asked for, for 300 seconds.
///
/// # Panics
/// When the data has more than 65,535 bytes.
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
