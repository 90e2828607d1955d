//! Applies the DNS records of a `mongodb+srv` connection string ([Initial DNS Seedlist Discovery]).
//! The queries are in [`ClientOptions::resolve`].
//!
//! [Initial DNS Seedlist Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/initial-dns-seedlist-discovery/initial-dns-seedlist-discovery.md

use std::time::Duration;

use super::{AuthMechanism, ClientOptions};
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
        let has_source = self.auth_source.is_some();
        if let Some(text) = txt_options(&name, txt).map_err(Error::dns)? {
            self.apply_txt(&text)
                .map_err(|error| Error::dns(format!("the TXT record of {name}: {error}")))?;
        }
        self.hosts = seeds.hosts;
        self.srv_origin = Some(SrvOrigin { name, ttl: seeds.ttl });
        self.tls.enabled.get_or_insert(true);
        let mechanism = self
            .credential
            .as_ref()
            .and_then(|credential| credential.mechanism.as_ref());
        // The record names the database of the users of a cluster. It is not meant for users outside the server, whose
        // mechanisms accept no other source than `$external`.
        if has_source || !mechanism.is_some_and(AuthMechanism::is_external) {
            self.apply_auth_source();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `authSource` of the user.
    fn source(uri: &str, txt: &str) -> Result<String> {
        let options = ClientOptions::parse(uri)?;
        let name = options.srv_name()?.unwrap();
        let seeds = Seeds {
            hosts: vec![ServerAddress::tcp("db1.b.c", 27_017)],
            ttl: Duration::from_secs(60),
        };
        let options = options.with_srv_records(name, seeds, &[vec![txt.as_bytes().to_vec()]])?;
        Ok(options.resolved_credential()?.unwrap().source.unwrap())
    }

    #[test]
    fn the_source_of_a_txt_record_is_for_users_in_the_server() {
        let atlas = "authSource=admin&replicaSet=rs0";
        for (uri, expected) in [
            ("mongodb+srv://ada:x@a.b.c/app", "admin"),
            ("mongodb+srv://a.b.c/?authMechanism=MONGODB-X509", "$external"),
            ("mongodb+srv://ada@a.b.c/?authMechanism=GSSAPI", "$external"),
            (
                "mongodb+srv://a.b.c/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s",
                "$external",
            ),
        ] {
            assert_eq!(source(uri, atlas).unwrap(), expected, "{uri}");
        }
        let uri = "mongodb+srv://a.b.c/?authMechanism=MONGODB-X509&authSource=admin";
        assert!(source(uri, atlas).is_err());
    }
}
