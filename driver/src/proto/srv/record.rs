//! The first lookup: seeds from SRV records, default options from the TXT record.

use std::time::Duration;

use super::{SrvError, SrvName, choose};
use crate::ServerAddress;

/// An SRV record. Priority and weight are not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrvRecord {
    /// The host's name, with or without the final dot.
    pub target: String,
    /// The host's port.
    pub port: u16,
    /// The time to live of the record.
    pub ttl: Duration,
}

/// A TXT record: one or more character strings.
pub type TxtRecord = Vec<Vec<u8>>;

/// The seed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// At least one.
    pub hosts: Vec<ServerAddress>,
    /// The shortest time to live of the records.
    pub ttl: Duration,
}

impl SrvName {
    /// The address in a record, if it is in the domain and valid.
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

/// The seed list. A host outside the domain is an error. If `max_hosts` (`srvMaxHosts`, 0: no
/// limit) is less than the number of hosts, `random` chooses.
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

/// The text of the one TXT record that a host may have: options as in a connection string. `None` when there is no record.
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
