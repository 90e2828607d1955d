//! DNS lookups by the system's configuration: `/etc/resolv.conf`, or what the platform has in its place.
//!
//! The configuration is read anew for each lookup, since a machine may change networks while a client lives, and nothing is
//! cached: who asks again wants to know what has changed, and a host name may lead elsewhere after a failover. Both cost little
//! beside opening a connection, and no more lookups are under way than connections are being opened.

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

/// Asks the name servers of the system, or one of the caller's choice.
#[derive(Clone, Debug, Default)]
pub struct Resolver {
    name_server: Option<SocketAddr>,
}

impl Resolver {
    /// Asks this name server alone, over UDP and TCP, and nothing else that the system looks into.
    #[cfg_attr(
        not(feature = "internals"),
        expect(dead_code, reason = "for tests, through `internals`")
    )]
    pub fn of_name_server(address: SocketAddr) -> Self {
        Self {
            name_server: Some(address),
        }
    }

    fn config(&self) -> Result<(ResolverConfig, ResolverOpts), NetError> {
        let Some(address) = self.name_server else {
            return read_system_conf();
        };
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
            .map(|mut connection| {
                connection.port = address.port();
                connection
            })
            .to_vec();
        let server = NameServerConfig::new(address.ip(), true, connections);
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        Ok((config, ResolverOpts::default()))
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

/// Asks name servers alone, and forgets their answers.
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
            "there is no {kind} record {name} ({})",
            none.response_code
        )),
        _ => LookupError::Failed(format!("the {kind} records {name} cannot be looked up: {error}")),
    }
}
