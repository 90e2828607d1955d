//! DNS lookups: SRV and TXT records by the name servers of the system, addresses of hosts by the
//! system's resolver, or with the feature `hickory` by the hosts file and the name servers too.
//!
//! The configuration is read for each lookup, since the machine may change networks. Nothing is
//! cached: SRV polling looks for changes, and a host name may have another address after a
//! failover. Both costs are small compared to that of a connection, and there are at most as many
//! lookups as connections being opened.

mod exchange;
mod records;
#[cfg(not(feature = "hickory"))]
mod system;
#[cfg(feature = "hickory")]
#[path = "hickory.rs"]
mod system;

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use super::dns::{DnsLookup, Lookup, LookupError};
#[cfg(feature = "gssapi")]
use crate::proto::dns::reverse_name;
use crate::proto::{
    dns::{Kind, NameServers, Record},
    srv::{SrvRecord, TxtRecord},
};

/// Default of `timeout` in resolv.conf(5).
const TIMEOUT: Duration = Duration::from_secs(5);

/// Default of `attempts` in resolv.conf(5).
const ATTEMPTS: usize = 2;

// The limits of the C library (`RES_MAXRETRANS`, `RES_MAXRETRY`).
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_ATTEMPTS: usize = 5;

/// Queries the name servers of the system, or the given ones.
#[derive(Clone, Debug, Default)]
pub struct Resolver {
    name_servers: Option<NameServers>,
}

#[cfg_attr(
    not(feature = "internals"),
    expect(dead_code, reason = "for tests, through `internals`")
)]
impl Resolver {
    /// Queries only this name server, over UDP and TCP, and not the system.
    pub fn of_name_server(address: SocketAddr) -> Self {
        Self::of_name_servers(vec![address], TIMEOUT, ATTEMPTS)
    }

    /// Queries only these name servers, with this timeout and number of attempts for each.
    pub fn of_name_servers(addresses: Vec<SocketAddr>, timeout: Duration, attempts: usize) -> Self {
        Self {
            name_servers: Some(NameServers {
                addresses,
                timeout,
                attempts,
                rotate: false,
                tcp_only: false,
            }),
        }
    }
}

impl Resolver {
    async fn ask<T>(
        &self,
        name: &str,
        kind: Kind,
        read: fn(Record) -> Option<T>,
    ) -> Result<Vec<T>, LookupError> {
        let complete = records::parse_name(name).map_err(|error| records::failed(&name, kind, &error))?;
        let servers = match &self.name_servers {
            Some(servers) => servers.clone(),
            None => system::name_servers().await?,
        };
        records::records(&complete, kind, &servers, read).await
    }

    async fn find_addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        match &self.name_servers {
            Some(servers) => records::addresses(&records::parse_name(host)?, servers).await,
            None => system::addresses(host).await,
        }
    }
}

impl DnsLookup for Resolver {
    fn srv<'a>(&'a self, name: &'a str) -> Lookup<'a, SrvRecord> {
        Box::pin(self.ask(name, Kind::Srv, |record| match record {
            Record::Srv(record) => Some(record),
            _ => None,
        }))
    }

    fn txt<'a>(&'a self, name: &'a str) -> Lookup<'a, TxtRecord> {
        Box::pin(self.ask(name, Kind::Txt, |record| match record {
            Record::Txt(record) => Some(record),
            _ => None,
        }))
    }

    fn addresses<'a>(&'a self, host: &'a str) -> Lookup<'a, IpAddr> {
        Box::pin(self.find_addresses(host))
    }

    #[cfg(feature = "gssapi")]
    fn canonical_names<'a>(&'a self, name: &'a str) -> Lookup<'a, String> {
        Box::pin(self.ask(name, Kind::Cname, name_of))
    }

    #[cfg(feature = "gssapi")]
    fn host_names(&self, address: IpAddr) -> Lookup<'_, String> {
        Box::pin(async move { self.ask(&reverse_name(address), Kind::Ptr, name_of).await })
    }
}

#[cfg(feature = "gssapi")]
fn name_of(record: Record) -> Option<String> {
    match record {
        Record::Name(name) => Some(name),
        _ => None,
    }
}
