//! One question to one name server, on a socket of its own: so its port is one that nobody can guess.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use crate::proto::dns::{Exchange, MAX_MESSAGE, Query, Reply, Transport};

/// The server's reply, or why there is none.
pub(super) async fn run(exchange: &Exchange) -> Result<Reply, String> {
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
