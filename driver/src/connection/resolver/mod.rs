//! DNS lookups: SRV and TXT records by the name servers of `/etc/resolv.conf`, addresses of hosts
//! by the system's resolver.
//!
//! The configuration is read for each lookup, since the machine may change networks. Nothing is
//! cached: SRV polling looks for changes, and a host name may have another address after a
//! failover. Both costs are small compared to that of a connection, and there are at most as many
//! lookups as connections being opened.

mod exchange;
mod system;

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use super::{
    address_families::ask_for_both,
    dns::{DnsLookup, Lookup, LookupError, ask_system},
};
use crate::proto::{
    dns::{self, Answer, Kind, Name, NameServers, Record},
    srv::{SrvRecord, TxtRecord},
};

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
        Self::of_name_servers(vec![address], system::TIMEOUT, system::ATTEMPTS)
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
        let failed = |error: &dyn fmt::Display| {
            LookupError::Failed(format!("the {kind} records {name} cannot be looked up: {error}"))
        };
        let complete = Name::parse(name)
            .map_err(|reason| failed(&format_args!("{name} is not a domain name: {reason}")))?;
        let servers = match &self.name_servers {
            Some(servers) => servers.clone(),
            None => system::name_servers().await?,
        };
        let random = exchange::random().map_err(|error| failed(&error))?;
        let lookup = dns::Lookup::new(complete, kind, servers, random);
        match exchange::run(lookup).await.map_err(|error| failed(&error))? {
            Answer::Records(records) => Ok(records.into_iter().filter_map(read).collect()),
            Answer::NoRecords(code) => Err(LookupError::NoRecords(format!(
                "the {kind} record {name} does not exist ({code})"
            ))),
        }
    }

    async fn find_addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        if self.name_servers.is_none() {
            return ask_system(host).await;
        }
        let ask = |kind| {
            self.ask(host, kind, |record| match record {
                Record::Address(address) => Some(address),
                _ => None,
            })
        };
        ask_for_both(host, ask(Kind::Aaaa), ask(Kind::A)).await
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
}
