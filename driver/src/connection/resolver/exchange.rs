//! The sockets of DNS queries: one per query, so that its source port is unpredictable (RFC 5452).

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    task::JoinSet,
    time::timeout,
};

use crate::proto::dns::{
    Answer, Conversation, Exchange, Lookup, LookupFailure, MAX_MESSAGE, PATIENCE, Query, Reply,
    ServerFailure, Step, Transport,
};

/// Returns the first answer. The conversations end with this future.
pub(super) async fn run(mut lookup: Lookup) -> Result<Answer, LookupFailure> {
    let mut conversations = JoinSet::new();
    loop {
        match lookup.next_step() {
            Step::Begin(conversation) => {
                conversations.spawn(converse(conversation));
            }
            Step::Wait => {}
            Step::GiveUp(failure) => return Err(failure),
        }
        let ended = if lookup.is_patient() {
            timeout(PATIENCE, conversations.join_next()).await.ok().flatten()
        } else {
            conversations.join_next().await
        };
        match ended {
            Some(Ok((_, Ok(answer)))) => return Ok(answer),
            Some(Ok((server, Err(failure)))) => lookup.failed(server, failure),
            Some(Err(_)) | None => {}
        }
    }
}

async fn converse(mut conversation: Conversation) -> (SocketAddr, Result<Answer, ServerFailure>) {
    loop {
        let outcome = match random() {
            Ok(id) => send(&conversation.exchange(id)).await,
            Err(failure) => Err(failure),
        };
        if let Some(end) = conversation.handle(outcome) {
            return (conversation.server(), end);
        }
    }
}

/// An unpredictable number.
pub(super) fn random() -> Result<u16, ServerFailure> {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_err(|error| ServerFailure::Random(error.to_string()))?;
    Ok(u16::from_ne_bytes(bytes))
}

async fn send(exchange: &Exchange) -> Result<Reply, ServerFailure> {
    let Exchange { server, query, .. } = exchange;
    let reply = async {
        match exchange.transport {
            Transport::Udp => over_udp(*server, query).await,
            Transport::Tcp => over_tcp(*server, query).await,
        }
    };
    match timeout(exchange.timeout, reply).await {
        Ok(reply) => reply.map_err(|error| ServerFailure::Socket(describe(&error))),
        Err(_) => Err(ServerFailure::Timeout(exchange.timeout)),
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
    // The system then drops datagrams from other addresses.
    socket.connect(server).await?;
    socket.send(&query.bytes()).await?;
    let mut datagram = vec![0; MAX_MESSAGE];
    loop {
        let length = socket.recv(&mut datagram).await?;
        // A reply to another query may be forged (RFC 5452, section 9.1): it is ignored.
        if let Some(reply) = datagram.get(..length).and_then(|message| query.read(message)) {
            return Ok(reply);
        }
    }
}

async fn over_tcp(server: SocketAddr, query: &Query) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    let question = query.bytes();
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    // In one write: some servers do not reassemble a message from several segments (RFC 7766, section 8).
    stream
        .write_all(&[&length.to_be_bytes(), question.as_slice()].concat())
        .await?;
    let mut message = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut message).await?;
    let other_query = || io::Error::new(io::ErrorKind::InvalidData, "its reply is to another question");
    query.read(&message).ok_or_else(other_query)
}
