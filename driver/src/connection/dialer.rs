//! From a host name to socket addresses.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::lookup_host;

use super::dns::{DnsLookup, LookupError};
use crate::{Error, Result, error::NetworkPhase};

/// Resolves host names by hosts file, DNS and the system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemDialer;

impl SystemDialer {
    /// The addresses of the host, in the order of preference. `_phase` is used by the dialer for
    /// tests (`mapped_dialer`).
    pub(super) async fn resolve(
        &self,
        host: &str,
        port: u16,
        dns: &dyn DnsLookup,
        _phase: NetworkPhase,
    ) -> Result<Vec<SocketAddr>> {
        resolve(host, port, dns)
            .await
            .map_err(|error| Error::network(NetworkPhase::Resolve, error))
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
        // IPv4 first: by default servers listen on it alone (`net.bindIp`).
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
