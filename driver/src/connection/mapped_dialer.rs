//! A dialer whose addresses tests choose, because tests cannot listen on the ports in the files of
//! the specifications.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use super::{dialer::SystemDialer, dns::DnsLookup};
use crate::{Error, Result, error::NetworkPhase};

/// Maps a host and a port to an address. `None` refuses the connection.
pub(super) type Map = dyn Fn(&str, u16) -> Option<SocketAddr> + Send + Sync;

/// Where connections to a host and a port go.
#[derive(Clone, Default)]
pub enum Dialer {
    /// To the addresses that the system knows.
    #[default]
    System,
    /// To the address that the function returns.
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
    /// The addresses of the host, in the order of preference. A refused connection fails in
    /// `phase`.
    pub(super) async fn resolve(
        &self,
        host: &str,
        port: u16,
        dns: &dyn DnsLookup,
        phase: NetworkPhase,
    ) -> Result<Vec<SocketAddr>> {
        match self {
            Self::System => SystemDialer.resolve(host, port, dns, phase).await,
            Self::Mapped(map) => match map(host, port) {
                Some(address) => Ok(vec![address]),
                None => Err(Error::network(phase, io::ErrorKind::ConnectionRefused.into())),
            },
        }
    }
}
