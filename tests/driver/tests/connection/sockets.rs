//! Establishing connections: name resolution, IPv4 and IPv6 addresses, unreachable addresses, Unix
//! domain sockets, and the error of each phase.

mod addresses;
mod phases;
mod timeouts;
#[cfg(unix)]
mod unix;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use marula_driver::{
    Error, NetworkPhase,
    internals::{Connection, ConnectionSettings, DnsLookup, handshake::client_metadata},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

const LONG: Duration = Duration::from_secs(60);

/// Establishes one connection.
async fn attempt(
    address: &str,
    dns: Option<Arc<dyn DnsLookup>>,
    connect_timeout: Duration,
) -> Result<(), Error> {
    let mut settings = ConnectionSettings::new(connect_timeout, client_metadata(None).expect("metadata"));
    if let Some(dns) = dns {
        settings.dns = dns;
    }
    let address = address.parse().expect("an address");
    Connection::establish(&address, &settings).await.map(drop)
}

/// The phase and the kind of a network error.
fn network(error: &Error) -> (NetworkPhase, std::io::ErrorKind) {
    match error.kind() {
        marula_driver::ErrorKind::Network(network) => (network.phase(), network.io_kind()),
        _ => panic!("{error}"),
    }
}

/// A proxy that forwards connections to another address, until it is dropped.
struct Forward {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Forward {
    async fn start(listen: &str, target: SocketAddr) -> Self {
        let listener = TcpListener::bind(listen).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(target).await {
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        Self { address, task }
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An address that does not answer, not even with a refusal: the backlog of its listener is full.
#[cfg(target_os = "linux")]
struct Unresponsive {
    address: SocketAddr,
    _listener: TcpListener,
    _first: TcpStream,
}

#[cfg(target_os = "linux")]
impl Unresponsive {
    async fn at(address: SocketAddr) -> Self {
        let socket = match address {
            SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4(),
            SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6(),
        }
        .expect("a socket");
        socket.bind(address).expect("a free port");
        let listener = socket.listen(0).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let first = TcpStream::connect(address).await.expect("space in the backlog");
        // The operating system may fill the backlog a moment after the client is connected; a
        // connection to another listener takes longer.
        let other = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let target = other.local_addr().expect("an address");
        let (there, back) = tokio::join!(TcpStream::connect(target), other.accept());
        there.expect("a connection");
        back.expect("a connection");
        Self {
            address,
            _listener: listener,
            _first: first,
        }
    }
}
