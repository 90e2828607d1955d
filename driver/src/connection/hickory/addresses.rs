//! The addresses of a host: from the hosts file, the name servers, and finally the system.

use std::net::IpAddr;

use hickory_resolver::{
    Hosts, TokioResolver,
    net::NetError,
    proto::{
        ProtoError,
        op::Query,
        rr::{Name, RecordType},
    },
};

use super::{LookupError, Resolver, describe, resolver};
use crate::connection::{address_families, dns::ask_system};

/// In the order of preference.
const ADDRESS_FAMILIES: [RecordType; 2] = [RecordType::AAAA, RecordType::A];

impl Resolver {
    /// See [`DnsLookup::addresses`](super::DnsLookup::addresses).
    pub(super) async fn find_addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        if self.name_servers.is_some() {
            return self.ask_dns(host).await;
        }
        // A name in the hosts file is resolved without a network.
        if let Some(known) = Hosts::from_system().ok().and_then(|hosts| known_in(&hosts, host)) {
            return Ok(known);
        }
        // The system has further sources, such as LDAP or mDNS. It blocks a thread, so it is used
        // last.
        let unknown = match self.ask_dns(host).await {
            Ok(found) => return Ok(found),
            Err(unknown) => unknown,
        };
        ask_system(host).await.map_err(|error| match unknown {
            LookupError::NoRecords(why) => LookupError::NoRecords(format!("{why}; {error}")),
            LookupError::Failed(why) | LookupError::Unavailable(why) => {
                LookupError::Failed(format!("{why}; {error}"))
            }
        })
    }

    /// Queries the name with the search domains too. The first name with addresses counts.
    async fn ask_dns(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        let failed = |error: NetError| {
            LookupError::Failed(format!("the name {host} cannot be looked up in DNS: {error}"))
        };
        let (config, options) = self.config().map_err(failed)?;
        let search: Vec<Name> = match (config.search(), config.domain()) {
            ([], Some(domain)) => vec![domain.clone()],
            (search, _) => search.to_vec(),
        };
        let names = candidates(host, options.ndots, &search)
            .map_err(|error| LookupError::Failed(format!("{host} is not a domain name: {error}")))?;
        let lookup = resolver(config, options).map_err(failed)?;
        let mut unknown = LookupError::NoRecords(format!("DNS knows no address of {host}"));
        for name in names {
            match ask_for_both(&lookup, &name).await {
                Ok(found) => return Ok(found),
                // A failure is reported in preference to the absence of records.
                Err(error) => {
                    if matches!(unknown, LookupError::NoRecords(_)) {
                        unknown = error;
                    }
                }
            }
        }
        Err(unknown)
    }
}

/// The addresses of the host in the hosts file. `None` if there are none.
fn known_in(hosts: &Hosts, host: &str) -> Option<Vec<IpAddr>> {
    let name = Name::from_ascii(host).ok()?;
    let of_family = |family| {
        let found = hosts.lookup_static_host(&Query::query(name.clone(), family));
        found.map_or_else(Vec::new, |lookup| ips(&lookup))
    };
    let known: Vec<IpAddr> = ADDRESS_FAMILIES.into_iter().flat_map(of_family).collect();
    (!known.is_empty()).then_some(known)
}

fn ips(lookup: &hickory_resolver::lookup::Lookup) -> Vec<IpAddr> {
    let records = lookup.answers().iter();
    records.filter_map(|record| record.data.ip_addr()).collect()
}

/// The fully qualified names to query for a host name, in order: with at least `ndots` dots the
/// name itself first, otherwise the search domains first. A name that ends in a dot is fully
/// qualified.
fn candidates(host: &str, ndots: usize, search: &[Name]) -> Result<Vec<Name>, ProtoError> {
    let given = Name::from_ascii(host)?;
    let mut complete = given.clone();
    complete.set_fqdn(true);
    if given.is_fqdn() {
        return Ok(vec![complete]);
    }
    let dots = host.bytes().filter(|byte| *byte == b'.').count();
    // A name that is too long with a search domain is skipped.
    let mut names: Vec<Name> = search
        .iter()
        .filter_map(|domain| given.clone().append_domain(domain).ok())
        .collect();
    if dots >= ndots {
        names.insert(0, complete);
    } else {
        names.push(complete);
    }
    Ok(names)
}

async fn ask_for_both(lookup: &TokioResolver, name: &Name) -> Result<Vec<IpAddr>, LookupError> {
    let complete = name.to_ascii();
    let host = complete.strip_suffix('.').unwrap_or(&complete);
    let ask = async |family| {
        let found = lookup.lookup(name.clone(), family).await;
        found
            .map(|found| ips(&found))
            .map_err(|error| describe(family, host, &error))
    };
    let [first, second] = ADDRESS_FAMILIES.map(ask);
    address_families::ask_for_both(host, first, second).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_domains_come_first_for_short_names() {
        let search = ["corp.example.", "example."].map(|domain| Name::from_ascii(domain).unwrap());
        let names = |host: &str, dots| -> Vec<String> {
            let names = candidates(host, dots, &search).unwrap();
            names.iter().map(Name::to_ascii).collect()
        };
        assert_eq!(names("db1", 1), ["db1.corp.example.", "db1.example.", "db1."]);
        assert_eq!(names("a.b", 1), ["a.b.", "a.b.corp.example.", "a.b.example."]);
        assert_eq!(names("a.b", 2), ["a.b.corp.example.", "a.b.example.", "a.b."]);
        assert_eq!(names("a.b.", 5), ["a.b."], "complete");
        assert_eq!(names("mongo_1", 1)[2], "mongo_1.", "as containers are called");
        let long = format!(
            "{}.{}.{}.{}",
            "a".repeat(63),
            "b".repeat(63),
            "c".repeat(63),
            "d".repeat(50)
        );
        assert_eq!(names(&long, 1).len(), 2, "one is too long for the longer domain");
        assert!(candidates("a..b", 1, &search).is_err());
        assert!(candidates(&"x".repeat(64), 1, &search).is_err());
    }

    #[test]
    fn the_hosts_file_has_addresses_of_both_families() {
        let mut hosts = Hosts::default();
        let text = "127.0.0.1 localhost\n192.0.2.1 db1 DB1.example # old\n2001:db8::1 db1\n192.0.2.2 db1\n";
        hosts.read_hosts_conf(text.as_bytes()).unwrap();
        let known = |host| known_in(&hosts, host).unwrap_or_default();
        let texts = |host| known(host).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts("db1"), ["2001:db8::1", "192.0.2.1", "192.0.2.2"]);
        assert_eq!(texts("db1.example"), ["192.0.2.1"]);
        assert!(known("db2").is_empty() && known("old").is_empty() && known("a..b").is_empty());
    }
}
