//! Replaces `resolver` in builds with the feature `hickory`: DNS lookups by hickory-resolver,
//! configured by `/etc/resolv.conf` or its counterpart on the platform.
//!
//! As in `resolver`, the configuration is read for each lookup, and nothing is cached.

mod addresses;

use std::{net::SocketAddr, time::Duration};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::rr::{Name, RData, RecordType},
    system_conf::read_system_conf,
};

use super::dns::{DnsLookup, Lookup, LookupError};
use crate::proto::srv::{SrvRecord, TxtRecord};

/// Queries the name servers of the system, or the given ones.
#[derive(Clone, Debug, Default)]
pub struct Resolver {
    name_servers: Option<(ResolverConfig, ResolverOpts)>,
}

#[cfg_attr(
    not(feature = "internals"),
    expect(dead_code, reason = "for tests, through `internals`")
)]
impl Resolver {
    /// Queries only this name server, over UDP and TCP, and not the system.
    pub fn of_name_server(address: SocketAddr) -> Self {
        let defaults = ResolverOpts::default();
        Self::of_name_servers(vec![address], defaults.timeout, defaults.attempts)
    }

    /// Queries only these name servers, with this timeout and number of attempts for each.
    pub fn of_name_servers(addresses: Vec<SocketAddr>, timeout: Duration, attempts: usize) -> Self {
        let server = |address: SocketAddr| {
            let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
                connection.port = address.port();
                connection
            });
            NameServerConfig::new(address.ip(), true, connections.to_vec())
        };
        let servers = addresses.into_iter().map(server).collect();
        let mut options = ResolverOpts::default();
        options.timeout = timeout;
        options.attempts = attempts;
        Self {
            name_servers: Some((ResolverConfig::from_parts(None, Vec::new(), servers), options)),
        }
    }
}

impl Resolver {
    fn config(&self) -> Result<(ResolverConfig, ResolverOpts), NetError> {
        if let Some(chosen) = &self.name_servers {
            return Ok(chosen.clone());
        }
        // The type of the error differs between platforms; `?` converts each of them.
        let system = read_system_conf()?;
        Ok(system)
    }

    async fn ask<T>(
        &self,
        name: &str,
        kind: RecordType,
        read: fn(&RData, Duration) -> Option<T>,
    ) -> Result<Vec<T>, LookupError> {
        let failed = |error: NetError| describe(kind, name, &error);
        let complete = Name::from_ascii(format!("{name}.")).map_err(|error| failed(NetError::from(error)))?;
        let (config, options) = self.config().map_err(failed)?;
        let lookup = resolver(config, options).map_err(failed)?;
        let answer = lookup.lookup(complete, kind).await.map_err(failed)?;
        let records = answer.answers().iter();
        Ok(records
            .filter_map(|record| read(&record.data, Duration::from_secs(u64::from(record.ttl))))
            .collect())
    }
}

impl DnsLookup for Resolver {
    fn srv<'a>(&'a self, name: &'a str) -> Lookup<'a, SrvRecord> {
        Box::pin(self.ask(name, RecordType::SRV, |data, ttl| match data {
            RData::SRV(record) => Some(SrvRecord {
                target: record.target.to_ascii(),
                port: record.port,
                ttl,
            }),
            _ => None,
        }))
    }

    fn txt<'a>(&'a self, name: &'a str) -> Lookup<'a, TxtRecord> {
        Box::pin(self.ask(name, RecordType::TXT, |data, _| match data {
            RData::TXT(record) => Some(record.txt_data.iter().map(|text| text.to_vec()).collect()),
            _ => None,
        }))
    }

    fn addresses<'a>(&'a self, host: &'a str) -> Lookup<'a, std::net::IpAddr> {
        Box::pin(self.find_addresses(host))
    }
}

/// A resolver without a cache and without the hosts file.
fn resolver(config: ResolverConfig, mut options: ResolverOpts) -> Result<TokioResolver, NetError> {
    options.cache_size = 0;
    options.use_hosts_file = hickory_resolver::config::ResolveHosts::Never;
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
}

fn describe(kind: RecordType, name: &str, error: &NetError) -> LookupError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => LookupError::NoRecords(format!(
            "the {kind} record {name} does not exist ({})",
            none.response_code
        )),
        _ => LookupError::Failed(format!("the {kind} records {name} cannot be looked up: {error}")),
    }
}
