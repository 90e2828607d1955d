//! `CANONICALIZE_HOST_NAME`: the canonical name of a host ([Authentication], "Hostname
//! Canonicalization").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::net::IpAddr;

use crate::{
    connection::dns::{DnsLookup, LookupError},
    proto::auth::CanonicalizeHostName,
};

/// Maximum length of a chain of CNAME records.
const MAX_ALIASES: usize = 16;

/// The canonical name of a host in lower case, or the host as it is if a lookup fails. `localhost`
/// is its own canonical name.
pub(super) async fn canonical_host(host: &str, mode: CanonicalizeHostName, dns: &dyn DnsLookup) -> String {
    let given = || host.to_owned();
    if mode == CanonicalizeHostName::None || host.eq_ignore_ascii_case("localhost") {
        return given();
    }
    let address = host.parse::<IpAddr>().ok();
    // The address is looked up first: if it is not known, the name is not changed.
    let address = match (mode, address) {
        (CanonicalizeHostName::ForwardAndReverse, None) => match dns.addresses(host).await {
            Ok(found) => found.first().copied(),
            Err(_) => return given(),
        },
        (_, address) => address,
    };
    let canonical = match last_alias(host, dns).await {
        Ok(name) => name.to_ascii_lowercase(),
        Err(_) => return given(),
    };
    match (mode, address) {
        (CanonicalizeHostName::ForwardAndReverse, Some(address)) => match dns.host_names(address).await {
            Ok(names) => names.first().map_or(canonical, |name| name.to_ascii_lowercase()),
            Err(_) => canonical,
        },
        _ => canonical,
    }
}

/// The last name in the chain of CNAME records.
async fn last_alias(host: &str, dns: &dyn DnsLookup) -> Result<String, LookupError> {
    let mut name = host.to_owned();
    if host.parse::<IpAddr>().is_ok() {
        return Ok(name);
    }
    for _ in 0..MAX_ALIASES {
        let alias = match dns.canonical_names(&name).await {
            Ok(names) => names.into_iter().next(),
            Err(LookupError::NoRecords(_)) => None,
            Err(error) => return Err(error),
        };
        match alias {
            Some(alias) => name = alias,
            None => return Ok(name),
        }
    }
    Err(LookupError::Failed(format!(
        "the aliases of {host} lead to one another without end"
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        connection::Lookup,
        proto::srv::{SrvRecord, TxtRecord},
    };

    /// Answers from a table. Names without an entry have no records.
    #[derive(Debug, Default)]
    struct Table {
        aliases: BTreeMap<&'static str, &'static str>,
        addresses: BTreeMap<&'static str, IpAddr>,
        names: BTreeMap<IpAddr, &'static str>,
        /// A name whose lookup fails.
        broken: &'static str,
    }

    impl Table {
        fn answer<T>(&self, name: &str, found: Option<T>) -> Result<Vec<T>, LookupError> {
            if name == self.broken {
                return Err(LookupError::Failed("SERVFAIL".to_owned()));
            }
            let found = found.ok_or_else(|| LookupError::NoRecords("NXDOMAIN".to_owned()))?;
            Ok(vec![found])
        }
    }

    impl DnsLookup for Table {
        fn srv<'a>(&'a self, name: &'a str) -> Lookup<'a, SrvRecord> {
            Box::pin(async { self.answer(name, None) })
        }

        fn txt<'a>(&'a self, name: &'a str) -> Lookup<'a, TxtRecord> {
            Box::pin(async { self.answer(name, None) })
        }

        fn addresses<'a>(&'a self, host: &'a str) -> Lookup<'a, IpAddr> {
            Box::pin(async { self.answer(host, self.addresses.get(host).copied()) })
        }

        fn canonical_names<'a>(&'a self, name: &'a str) -> Lookup<'a, String> {
            let alias = self.aliases.get(name).map(|alias| (*alias).to_owned());
            Box::pin(async { self.answer(name, alias) })
        }

        fn host_names(&self, address: IpAddr) -> Lookup<'_, String> {
            let name = self.names.get(&address).map(|name| (*name).to_owned());
            Box::pin(async move { self.answer("", name) })
        }
    }

    fn table() -> Table {
        let node: IpAddr = [192, 0, 2, 7].into();
        Table {
            aliases: [
                ("db.example.com", "Alias.example.com"),
                ("Alias.example.com", "Node7.example.net"),
            ]
            .into(),
            addresses: [("db.example.com", node), ("plain.example.com", node)].into(),
            names: [(node, "Rack1.Example.net")].into(),
            broken: "broken.example.com",
        }
    }

    #[tokio::test]
    async fn aliases_and_addresses_are_followed_as_the_mode_says() {
        use CanonicalizeHostName::{Forward, ForwardAndReverse, None};

        let dns = table();
        for (host, mode, expected) in [
            ("db.example.com", None, "db.example.com"),
            ("db.example.com", Forward, "node7.example.net"),
            ("db.example.com", ForwardAndReverse, "rack1.example.net"),
            ("plain.example.com", Forward, "plain.example.com"),
            ("plain.example.com", ForwardAndReverse, "rack1.example.net"),
            ("192.0.2.7", Forward, "192.0.2.7"),
            ("192.0.2.7", ForwardAndReverse, "rack1.example.net"),
            ("localhost", ForwardAndReverse, "localhost"),
        ] {
            assert_eq!(
                canonical_host(host, mode, &dns).await,
                expected,
                "{host} {mode:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_failed_lookup_leaves_the_name() {
        use CanonicalizeHostName::{Forward, ForwardAndReverse};

        let mut dns = table();
        for (host, mode, expected) in [
            ("broken.example.com", Forward, "broken.example.com"),
            ("unknown.example.com", ForwardAndReverse, "unknown.example.com"),
        ] {
            assert_eq!(canonical_host(host, mode, &dns).await, expected, "{host}");
        }
        dns.names.clear();
        let canonical = canonical_host("db.example.com", ForwardAndReverse, &dns).await;
        assert_eq!(canonical, "node7.example.net", "without a PTR record");
        dns.aliases.insert("Node7.example.net", "db.example.com");
        let canonical = canonical_host("db.example.com", Forward, &dns).await;
        assert_eq!(canonical, "db.example.com", "a loop of aliases");
    }
}
