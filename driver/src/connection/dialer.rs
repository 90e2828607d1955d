//! Opening the socket.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use tokio::net::{TcpStream, lookup_host};

use super::stream::Stream;
use crate::{Error, Result, ServerAddress, error::NetworkPhase};

/// Leads a host and a port to an address.
pub type Map = dyn Fn(&str, u16) -> Option<SocketAddr> + Send + Sync;

/// Who knows where a server really listens.
#[derive(Clone, Default)]
pub enum Dialer {
    /// The system: its resolver, its sockets.
    #[default]
    System,
    /// A function from host and port; `None` refuses the connection. For tests, which cannot have the ports that the
    /// specifications' files name.
    #[cfg_attr(
        not(feature = "internals"),
        expect(dead_code, reason = "for tests, through `internals`")
    )]
    Mapped(Arc<Map>),
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Mapped(_) => "Mapped",
        })
    }
}

impl Dialer {
    /// Connects to the server, in the clear.
    pub(super) async fn dial(&self, address: &ServerAddress) -> Result<Stream> {
        match address {
            ServerAddress::Tcp { host, port } => {
                let addresses = self.resolve(host, *port).await?;
                connect(addresses).await.map(Stream::Tcp)
            }
            #[cfg(unix)]
            ServerAddress::Unix { path } => tokio::net::UnixStream::connect(path)
                .await
                .map(Stream::Unix)
                .map_err(|e| Error::network(NetworkPhase::Connect, e)),
            #[cfg(not(unix))]
            ServerAddress::Unix { .. } => Err(Error::unsupported("Unix domain sockets on this platform")),
        }
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>> {
        match self {
            Self::System => Ok(lookup_host((host, port))
                .await
                .map_err(|e| Error::network(NetworkPhase::Resolve, e))?
                .collect()),
            Self::Mapped(map) => match map(host, port) {
                Some(address) => Ok(vec![address]),
                None => Err(Error::network(
                    NetworkPhase::Connect,
                    io::ErrorKind::ConnectionRefused.into(),
                )),
            },
        }
    }
}

/// Tries the addresses of the host in the resolver's order.
async fn connect(addresses: Vec<SocketAddr>) -> Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream
                    .set_nodelay(true)
                    .map_err(|e| Error::network(NetworkPhase::Connect, e))?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(Error::network(NetworkPhase::Connect, failure))
}
