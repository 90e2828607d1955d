//! Opening a connection: resolve, connect, handshake.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::net::{TcpStream, lookup_host};

use super::{Connection, State, read_buffer::ReadBuffer, stream::Stream};
use crate::{
    Error, ErrorKind, Result, ServerAddress,
    bson::RawDocumentBuf,
    error::NetworkPhase,
    proto::{
        command::CommandBuilder,
        description::HelloReply,
        handshake::{self, parse_hello},
    },
    types::deadline::Deadline,
};

/// What every connection of a client has in common.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// `connectTimeoutMS`: bounds resolving, connecting and the handshake together; zero means no limit.
    pub connect_timeout: Duration,
    /// The `client` document of the handshake.
    pub metadata: RawDocumentBuf,
    /// `loadBalanced`: the address is a load balancer's, and the server behind it must know.
    pub load_balanced: bool,
}

/// The text is the specification's.
const NOT_LOAD_BALANCED: &str =
    "Driver attempted to initialize in load balancing mode, but the server does not support this mode.";

impl Connection {
    /// Opens a connection and exchanges the handshake, all within `connectTimeoutMS`.
    ///
    /// Dropping the future closes the socket.
    pub async fn establish(address: &ServerAddress, settings: &ConnectionSettings) -> Result<Self> {
        let deadline = Deadline::after(Some(settings.connect_timeout));
        let opened = deadline.run(open(address)).await;
        let stream = match opened {
            Ok(stream) => stream.map_err(|e| e.with_address(address))?,
            Err(_) => return Err(timed_out(NetworkPhase::Connect, settings).with_address(address)),
        };
        let mut connection = Self {
            address: address.clone(),
            stream,
            hello: HelloReply::default(),
            handshake_time: Duration::ZERO,
            write: Vec::new(),
            read: ReadBuffer::default(),
            last_request: 0,
            exhaust: false,
            state: State::Idle,
            hello_body: 0..0,
            failure: None,
        };
        let started = Instant::now();
        let greeted = deadline.run(connection.shake_hands(settings)).await;
        match greeted {
            Ok(Ok(hello)) => connection.hello = hello,
            Ok(Err(error)) => return Err(as_handshake_error(error).with_address(address)),
            Err(_) => return Err(timed_out(NetworkPhase::Handshake, settings).with_address(address)),
        }
        connection.handshake_time = started.elapsed();
        Ok(connection)
    }

    async fn shake_hands(&mut self, settings: &ConnectionSettings) -> Result<HelloReply> {
        let (message, _) = self.begin();
        let mut command = CommandBuilder::new(message.buffer);
        handshake::first_hello(&mut command, &settings.metadata, settings.load_balanced);
        command.finish("admin")?;
        message.finish()?;
        let hello = self.hello_round_trip(Deadline::NEVER).await?;
        if settings.load_balanced && hello.service_id.is_none() {
            return Err(Error::unsupported(NOT_LOAD_BALANCED));
        }
        Ok(hello)
    }

    /// Asks the server for its state, as monitors do.
    pub async fn run_hello(&mut self, deadline: Deadline) -> Result<HelloReply> {
        let hello_ok = self.hello.hello_ok;
        let (message, _) = self.begin();
        let mut command = CommandBuilder::new(message.buffer);
        handshake::hello(&mut command, hello_ok);
        command.finish("admin")?;
        message.finish()?;
        self.hello_round_trip(deadline).await
    }

    async fn hello_round_trip(&mut self, deadline: Deadline) -> Result<HelloReply> {
        self.send(deadline).await?;
        let body = self.receive(deadline).await?;
        self.hello_body = body.clone();
        let parsed = parse_hello(self.reply(body));
        parsed.map_err(|error| match error.kind() {
            ErrorKind::Decode(_) => self.fail(error),
            _ => error.with_address(&self.address),
        })
    }
}

async fn open(address: &ServerAddress) -> Result<Stream> {
    match address {
        ServerAddress::Tcp { host, port } => open_tcp(host, *port).await,
        #[cfg(unix)]
        ServerAddress::Unix { path } => tokio::net::UnixStream::connect(path)
            .await
            .map(Stream::Unix)
            .map_err(|e| Error::network(NetworkPhase::Connect, e)),
        #[cfg(not(unix))]
        ServerAddress::Unix { .. } => Err(Error::unsupported("Unix domain sockets on this platform")),
    }
}

/// Tries the addresses of the host in the resolver's order.
async fn open_tcp(host: &str, port: u16) -> Result<Stream> {
    let addresses: Vec<SocketAddr> = lookup_host((host, port))
        .await
        .map_err(|e| Error::network(NetworkPhase::Resolve, e))?
        .collect();
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream
                    .set_nodelay(true)
                    .map_err(|e| Error::network(NetworkPhase::Connect, e))?;
                return Ok(Stream::Tcp(stream));
            }
            Err(error) => failure = error,
        }
    }
    Err(Error::network(NetworkPhase::Connect, failure))
}

fn timed_out(phase: NetworkPhase, settings: &ConnectionSettings) -> Error {
    let message = format!(
        "no answer within connectTimeoutMS ({:?})",
        settings.connect_timeout
    );
    Error::network(phase, io::Error::new(io::ErrorKind::TimedOut, message))
}

/// A socket that fails during the handshake fails before any command of the application was sent.
fn as_handshake_error(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Network(network) => {
            let copy = io::Error::new(network.io_kind(), network.to_string());
            Error::network(NetworkPhase::Handshake, copy)
        }
        _ => error,
    }
}
