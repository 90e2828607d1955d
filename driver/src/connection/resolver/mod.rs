//! DNS lookups by the name servers of `/etc/resolv.conf` for SRV and TXT records, and by the system's own resolver for the
//! addresses of hosts, which knows more than DNS does.
//!
//! The configuration is read anew for each lookup, since a machine may change networks while a client lives, and nothing is
//! cached: who asks again wants to know what has changed, and a host name may lead elsewhere after a failover. Both cost little
//! beside opening a connection, and no more lookups are under way than connections are being opened.

mod exchange;
mod system;

use std::{
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

/// Asks the name servers of the system, or those of the caller's choice.
#[derive(Clone, Debug, Default)]
pub struct Resolver {
    name_servers: Option<NameServers>,
}

#[cfg_attr(
    not(feature = "internals"),
    expect(dead_code, reason = "for tests, through `internals`")
)]
impl Resolver {
    /// Asks this name server alone, over UDP and TCP, and nothing else that the system looks into.
    pub fn of_name_server(address: SocketAddr) -> Self {
        Self::of_name_servers(vec![address], system::TIMEOUT, system::ATTEMPTS)
    }

    /// Asks these name servers alone, each for so long and so often.
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
        let failed = |why: String| {
            LookupError::Failed(format!("the {kind} records {name} cannot be looked up: {why}"))
        };
        let complete = Name::parse(name).map_err(|why| failed(format!("{name} is no name of DNS: {why}")))?;
        let servers = match &self.name_servers {
            Some(servers) => servers.clone(),
            None => system::name_servers().await?,
        };
        let lookup = dns::Lookup::new(complete, kind, servers, exchange::random().map_err(failed)?);
        match exchange::run(lookup).await.map_err(failed)? {
            Answer::Records(records) => Ok(records.into_iter().filter_map(read).collect()),
            Answer::NoRecords(why) => Err(LookupError::NoRecords(format!(
                "there is no {kind} record {name} ({why})"
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
