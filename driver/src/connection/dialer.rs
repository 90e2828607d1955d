//! From a host name to a socket.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use tokio::net::lookup_host;

use super::dns::{DnsLookup, LookupError};
use crate::{Error, Result, error::NetworkPhase};

/// Leads a host and a port to an address.
pub type Map = dyn Fn(&str, u16) -> Option<SocketAddr> + Send + Sync;

/// Who knows where a server really listens.
#[derive(Clone, Default)]
pub enum Dialer {
    /// The hosts file, DNS, the system.
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
    /// Where the host listens, in the order of preference. Whoever connects fails in `phase`.
    pub(super) async fn resolve(
        &self,
        host: &str,
        port: u16,
        dns: &dyn DnsLookup,
        phase: NetworkPhase,
    ) -> Result<Vec<SocketAddr>> {
        match self {
            Self::System => resolve(host, port, dns)
                .await
                .map_err(|error| Error::network(NetworkPhase::Resolve, error)),
            Self::Mapped(map) => match map(host, port) {
                Some(address) => Ok(vec![address]),
                None => Err(Error::network(phase, io::ErrorKind::ConnectionRefused.into())),
            },
        }
    }
}

async fn resolve(host: &str, port: u16, dns: &dyn DnsLookup) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    if host
        .strip_suffix('.')
        .unwrap_or(host)
        .eq_ignore_ascii_case("localhost")
    {
        // IPv4 first: unless told otherwise, servers listen there alone.
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        return Ok(loopback.map(|ip| SocketAddr::new(ip, port)).to_vec());
    }
    if host.contains('%') {
        // An address of a link: the system knows its number.
        return Ok(lookup_host((host, port)).await?.collect());
    }
    let found = dns.addresses(host).await.map_err(|error| {
        let kind = match error {
            LookupError::NoRecords(_) => io::ErrorKind::NotFound,
            LookupError::Failed(_) | LookupError::Unavailable(_) => io::ErrorKind::Other,
        };
        io::Error::new(kind, error.to_string())
    })?;
    Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}
