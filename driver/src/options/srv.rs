//! Applies the DNS records of a `mongodb+srv` connection string ([Initial DNS Seedlist Discovery]).
//! The queries are in [`ClientOptions::resolve`].
//!
//! [Initial DNS Seedlist Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/initial-dns-seedlist-discovery/initial-dns-seedlist-discovery.md

use std::time::Duration;

use super::ClientOptions;
use crate::{
    Error, Result, ServerAddress,
    proto::srv::{Seeds, SrvName, SrvRecord, TxtRecord, seeds, txt_options},
};

/// The origin of the hosts of a `mongodb+srv` client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SrvOrigin {
    pub(crate) name: SrvName,
    /// The shortest time to live of the SRV records.
    pub(crate) ttl: Duration,
}

impl ClientOptions {
    /// The host name to query. `None` if the scheme is `mongodb`, or if the records have been
    /// applied.
    pub(crate) fn srv_name(&self) -> Result<Option<SrvName>> {
        if !self.srv || self.srv_origin.is_some() {
            return Ok(None);
        }
        let [ServerAddress::Tcp { host, .. }] = self.hosts.as_slice() else {
            return Err(Error::invalid_argument("mongodb+srv takes exactly one host name"));
        };
        SrvName::new(host, &self.srv_service_name)
            .map(Some)
            .map_err(Error::connection_string)
    }

    /// The seed list of the SRV records. `random` selects the hosts if `srvMaxHosts` is less than
    /// their number.
    pub(crate) fn srv_seeds(&self, name: &SrvName, records: &[SrvRecord], random: u64) -> Result<Seeds> {
        seeds(name, records, self.srv_max_hosts, random).map_err(Error::dns)
    }

    /// Applies the seed list and the options of the TXT record.
    pub(crate) fn with_srv_records(mut self, name: SrvName, seeds: Seeds, txt: &[TxtRecord]) -> Result<Self> {
        if let Some(text) = txt_options(&name, txt).map_err(Error::dns)? {
            self.apply_txt(&text)
                .map_err(|error| Error::dns(format!("the TXT record of {name}: {error}")))?;
        }
        self.hosts = seeds.hosts;
        self.srv_origin = Some(SrvOrigin { name, ttl: seeds.ttl });
        self.tls.enabled.get_or_insert(true);
        self.apply_auth_source();
        self.validate()?;
        Ok(self)
    }

    /// Rejects options whose hosts have not been resolved.
    pub(crate) fn check_resolved(&self) -> Result<()> {
        if self.srv && self.srv_origin.is_none() {
            return Err(Error::invalid_argument(
                "the hosts of a mongodb+srv connection string must be looked up first: call resolve() on the options and \
                 await it, or use Client::connect",
            ));
        }
        Ok(())
    }
}
