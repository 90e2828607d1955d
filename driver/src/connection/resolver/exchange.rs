//! Questions to name servers, each on a socket of its own: so its port is one that nobody can guess.

use std::{
    future::poll_fn,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    task::Poll,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use crate::proto::dns::{
    Answer, Conversation, Exchange, Lookup, MAX_MESSAGE, PATIENCE, Query, Reply, Step, Transport,
};

/// A conversation under way: its server, and what comes of it.
type Running = Pin<Box<dyn Future<Output = (SocketAddr, Result<Answer, String>)> + Send>>;

/// The first answer, or why there is none. Conversations are part of this future: its end, and dropping it, closes their sockets.
pub(super) async fn run(mut lookup: Lookup) -> Result<Answer, String> {
    let mut running: Vec<Running> = Vec::new();
    loop {
        match lookup.next_step() {
            Step::Begin(conversation) => running.push(Box::pin(converse(conversation))),
            Step::Wait => {}
            Step::GiveUp(why) => return Err(why),
        }
        let ended = match lookup.is_patient() {
            true => timeout(PATIENCE, first(&mut running)).await.ok(),
            false => Some(first(&mut running).await),
        };
        match ended {
            Some((_, Ok(answer))) => return Ok(answer),
            Some((server, Err(why))) => lookup.failed(server, why),
            None => {}
        }
    }
}

/// Waits for the first conversation that ends, and takes it away.
async fn first(running: &mut Vec<Running>) -> (SocketAddr, Result<Answer, String>) {
    poll_fn(|cx| {
        for (index, conversation) in running.iter_mut().enumerate() {
            if let Poll::Ready(ended) = conversation.as_mut().poll(cx) {
                drop(running.remove(index));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    })
    .await
}

async fn converse(mut conversation: Conversation) -> (SocketAddr, Result<Answer, String>) {
    loop {
        let outcome = match random() {
            Ok(id) => ask(&conversation.exchange(id)).await,
            Err(error) => Err(error),
        };
        if let Some(end) = conversation.handle(outcome) {
            return (conversation.server(), end);
        }
    }
}

/// A number that nobody can guess.
pub(super) fn random() -> Result<u16, String> {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system has no random numbers: {error}"))?;
    Ok(u16::from_ne_bytes(bytes))
}

/// The server's reply, or why there is none.
async fn ask(exchange: &Exchange) -> Result<Reply, String> {
    let Exchange { server, query, .. } = exchange;
    let reply = async {
        match exchange.transport {
            Transport::Udp => over_udp(*server, query).await,
            Transport::Tcp => over_tcp(*server, query).await,
        }
    };
    match timeout(exchange.timeout, reply).await {
        Ok(reply) => reply.map_err(|error| describe(&error)),
        Err(_) => Err(format!("no answer within {:?}", exchange.timeout)),
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection ended before its reply did".into(),
        _ => error.to_string(),
    }
}

async fn over_udp(server: SocketAddr, query: &Query) -> io::Result<Reply> {
    let any_port: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any_port).await?;
    // From then on, the system takes datagrams of this server alone.
    socket.connect(server).await?;
    socket.send(&query.bytes()).await?;
    let mut datagram = vec![0; MAX_MESSAGE];
    loop {
        let length = socket.recv(&mut datagram).await?;
        // Somebody may be guessing, under the server's address. The true reply is waited for.
        if let Some(reply) = datagram.get(..length).and_then(|message| query.read(message)) {
            return Ok(reply);
        }
    }
}

async fn over_tcp(server: SocketAddr, query: &Query) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    let question = query.bytes();
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    // At once: some servers do not put a message together from several packets.
    stream
        .write_all(&[&length.to_be_bytes(), question.as_slice()].concat())
        .await?;
    let mut message = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut message).await?;
    let answers_another = || io::Error::new(io::ErrorKind::InvalidData, "its reply is to another question");
    query.read(&message).ok_or_else(answers_another)
}
