//! The first query: seeds from SRV records, options from the TXT record.

use std::time::Duration;

use super::{SrvError, SrvName, choose};
use crate::ServerAddress;

/// An SRV record. Priority and weight are not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrvRecord {
    /// The target: a host name with or without the final dot.
    pub target: String,
    /// The host's port.
    pub port: u16,
    /// The time to live of the record.
    pub ttl: Duration,
}

/// A TXT record: one or more character strings (RFC 1035).
pub type TxtRecord = Vec<Vec<u8>>;

/// The seed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The hosts; at least one.
    pub hosts: Vec<ServerAddress>,
    /// The shortest time to live of the records.
    pub ttl: Duration,
}

impl SrvName {
    /// The address in a record. Fails if it is invalid or not in the domain.
    pub(super) fn address(&self, record: &SrvRecord) -> Result<ServerAddress, SrvError> {
        let host = self.verify(&record.target)?;
        if record.port == 0 {
            return Err(SrvError::PortZero {
                query: self.query(),
                host,
            });
        }
        Ok(ServerAddress::tcp(&host, record.port))
    }
}

/// The seed list of the records. Fails if a host is not in the domain. If `max_hosts`
/// (`srvMaxHosts`, 0: no limit) is less than the number of hosts, `random` determines the
/// selection.
pub fn seeds(name: &SrvName, records: &[SrvRecord], max_hosts: u32, random: u64) -> Result<Seeds, SrvError> {
    let mut hosts = Vec::new();
    for record in records {
        let address = name.address(record)?;
        if !hosts.contains(&address) {
            hosts.push(address);
        }
    }
    let Some(ttl) = records.iter().map(|record| record.ttl).min() else {
        return Err(no_records(name));
    };
    if let Ok(limit) = usize::try_from(max_hosts)
        && limit > 0
    {
        hosts = choose(hosts, limit, random);
    }
    Ok(Seeds { hosts, ttl })
}

pub(super) fn no_records(name: &SrvName) -> SrvError {
    SrvError::NoRecords { query: name.query() }
}

/// The options in the TXT record, in the form of a connection string. `None` without a record.
/// More than one record is an error.
pub fn txt_options(name: &SrvName, records: &[TxtRecord]) -> Result<Option<String>, SrvError> {
    match records {
        [] => Ok(None),
        [strings] => String::from_utf8(strings.concat())
            .map(Some)
            .map_err(|_| SrvError::TxtNotUtf8 {
                host: name.hostname().to_owned(),
            }),
        _ => Err(SrvError::TxtRecords {
            host: name.hostname().to_owned(),
            count: records.len(),
        }),
    }
}
