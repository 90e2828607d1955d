//! A port that refuses connections.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A port of the address 127.0.0.1 that refuses connections until it is dropped. The socket is bound and does not
/// listen, so that no server of another test can use the port meanwhile.
#[derive(Debug)]
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    /// Reserves a port.
    ///
    /// # Panics
    /// If no port is free.
    #[expect(clippy::new_without_default, reason = "it reserves a port")]
    #[must_use]
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .expect("a free port");
        Self(socket)
    }

    /// The address 127.0.0.1 with the port.
    ///
    /// # Panics
    /// If the operating system does not return it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("an address")
    }
}
