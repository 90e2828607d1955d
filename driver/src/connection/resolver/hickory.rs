//! Replaces `system` in builds with the feature `hickory`: hickory-resolver reads the configuration
//! and the hosts file, on every platform. The queries are those of this driver.
//!
//! Addresses come from the hosts file, then from DNS with the search domains, and finally from the
//! system's resolver, which has further sources such as LDAP or mDNS. It is used last because it
//! blocks a thread until it has an answer.
//!
//! Only UDP and TCP are used: name servers that are configured for encrypted protocols alone are
//! skipped.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use hickory_resolver::{
    Hosts,
    config::{NameServerConfig, ProtocolConfig, ResolverConfig, ResolverOpts, ServerOrderingStrategy},
    proto::{
        op::Query,
        rr::{self, RecordType},
    },
    system_conf::read_system_conf,
};
use tokio::task::spawn_blocking;

use super::{
    MAX_ATTEMPTS, MAX_TIMEOUT, MIN_TIMEOUT,
    records::{self, parse_name},
};
use crate::{
    connection::dns::{LookupError, ask_system},
    proto::dns::{Name, NameServers},
};

/// The DNS configuration of the system.
#[derive(Debug)]
struct SystemConfig {
    name_servers: NameServers,
    /// The search domains as text, in order.
    search: Vec<String>,
    /// The number of dots in a name that is queried before the search domains are applied.
    ndots: usize,
}

/// Reads the name servers.
pub(super) async fn name_servers() -> Result<NameServers, LookupError> {
    Ok(read_config().await?.name_servers)
}

/// The addresses of a host. A name in the hosts file is resolved without a network.
pub(super) async fn addresses(host: &str) -> Result<Vec<IpAddr>, LookupError> {
    if let Some(known) = read_hosts(host).await {
        return Ok(known);
    }
    let unknown = match ask_dns(host).await {
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
async fn ask_dns(host: &str) -> Result<Vec<IpAddr>, LookupError> {
    let config = read_config().await?;
    let mut unknown = LookupError::NoRecords(format!("DNS knows no address of {host}"));
    for name in candidates(host, config.ndots, &config.search)? {
        match records::addresses(&name, &config.name_servers).await {
            Ok(found) => return Ok(found),
            Err(error @ LookupError::NoRecords(_)) => unknown = error,
            // The name servers would be waited for again with each other name. The resolver of the
            // system is next.
            Err(error) => return Err(error),
        }
    }
    Err(unknown)
}

/// The fully qualified names to query for a host name, in order: with at least `ndots` dots the
/// name itself first, otherwise the search domains first. A name that ends in a dot is fully
/// qualified.
fn candidates(host: &str, ndots: usize, search: &[String]) -> Result<Vec<Name>, LookupError> {
    let complete = parse_name(host)?;
    if host.ends_with('.') {
        return Ok(vec![complete]);
    }
    // A name that is too long with a search domain is skipped.
    let mut names: Vec<Name> = search
        .iter()
        .filter_map(|domain| Name::parse(&format!("{host}.{domain}")).ok())
        .collect();
    if host.matches('.').count() >= ndots {
        names.insert(0, complete);
    } else {
        names.push(complete);
    }
    Ok(names)
}

async fn read_config() -> Result<SystemConfig, LookupError> {
    // The type of the error differs between platforms.
    let read = || match read_system_conf() {
        Ok((config, options)) => Ok(convert(&config, &options)),
        Err(error) => Err(unreadable(&error)),
    };
    spawn_blocking(read)
        .await
        .unwrap_or_else(|error| Err(unreadable(&error)))
}

fn unreadable(error: &dyn fmt::Display) -> LookupError {
    LookupError::Failed(format!(
        "the DNS configuration of the system cannot be read: {error}"
    ))
}

fn convert(config: &ResolverConfig, options: &ResolverOpts) -> SystemConfig {
    let over_udp = addresses_over(&ProtocolConfig::Udp, config.name_servers());
    // A query over UDP is repeated over TCP at the same address if its reply is truncated.
    let tcp_only = over_udp.is_empty();
    let search = match (config.search(), config.domain()) {
        ([], Some(domain)) => std::slice::from_ref(domain),
        (search, _) => search,
    };
    SystemConfig {
        name_servers: NameServers {
            addresses: if tcp_only {
                addresses_over(&ProtocolConfig::Tcp, config.name_servers())
            } else {
                over_udp
            },
            timeout: options.timeout.clamp(MIN_TIMEOUT, MAX_TIMEOUT),
            attempts: options.attempts.clamp(1, MAX_ATTEMPTS),
            rotate: options.server_ordering_strategy == ServerOrderingStrategy::RoundRobin,
            tcp_only,
        },
        search: search.iter().map(rr::Name::to_ascii).collect(),
        ndots: options.ndots,
    }
}

/// The addresses of the name servers that are configured for this protocol.
fn addresses_over(protocol: &ProtocolConfig, servers: &[NameServerConfig]) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    for server in servers {
        let connections = server.connections.iter();
        for connection in connections.filter(|connection| connection.protocol == *protocol) {
            let address = SocketAddr::new(server.ip, connection.port);
            // Several network adapters may have the same server, and a server that does not answer
            // would be waited for twice.
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    addresses
}

/// The addresses of the host in the hosts file. `None` if there are none, or if the file cannot be
/// read.
async fn read_hosts(host: &str) -> Option<Vec<IpAddr>> {
    let host = host.to_owned();
    spawn_blocking(move || known_in(&Hosts::from_system().ok()?, &host))
        .await
        .ok()?
}

fn known_in(hosts: &Hosts, host: &str) -> Option<Vec<IpAddr>> {
    let name = rr::Name::from_ascii(host).ok()?;
    let of_family = |family| hosts.lookup_static_host(&Query::query(name.clone(), family));
    let known: Vec<IpAddr> = [RecordType::AAAA, RecordType::A]
        .into_iter()
        .filter_map(of_family)
        .flat_map(|found| {
            let addresses = found.answers().iter().filter_map(|record| record.data.ip_addr());
            addresses.collect::<Vec<_>>()
        })
        .collect();
    (!known.is_empty()).then_some(known)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hickory_resolver::config::ConnectionConfig;

    use super::{
        super::{ATTEMPTS, TIMEOUT},
        *,
    };

    #[test]
    fn search_domains_come_first_for_short_names() {
        // The root has no name of its own, so it adds no candidate.
        let search = ["corp.example.", "example", "."].map(str::to_owned);
        let names = |host: &str, dots| -> Vec<String> {
            let names = candidates(host, dots, &search).unwrap();
            names.iter().map(Name::to_string).collect()
        };
        assert_eq!(names("db1", 1), ["db1.corp.example", "db1.example", "db1"]);
        assert_eq!(names("a.b", 1), ["a.b", "a.b.corp.example", "a.b.example"]);
        assert_eq!(names("a.b", 2), ["a.b.corp.example", "a.b.example", "a.b"]);
        assert_eq!(names("a.b.", 5), ["a.b"], "complete");
        assert_eq!(names("mongo_1", 1)[2], "mongo_1", "as containers are called");
        let long = format!(
            "{}.{}.{}.{}",
            "a".repeat(63),
            "b".repeat(63),
            "c".repeat(63),
            "d".repeat(50)
        );
        assert_eq!(names(&long, 1).len(), 2, "one is too long for the longer domain");
        for host in ["a..b", "münchen", &"x".repeat(64)] {
            let error = candidates(host, 1, &search).unwrap_err();
            let LookupError::Failed(text) = error else {
                panic!("{error:?}")
            };
            assert!(
                text.starts_with(&format!("{host} is not a domain name: ")),
                "{text}"
            );
        }
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

    fn server(ip: &str, connections: &[(ProtocolConfig, u16)]) -> NameServerConfig {
        let connection = |(protocol, port): &(ProtocolConfig, u16)| {
            let mut connection = ConnectionConfig::new(protocol.clone());
            connection.port = *port;
            connection
        };
        let connections = connections.iter().map(connection).collect();
        NameServerConfig::new(ip.parse().unwrap(), true, connections)
    }

    fn name_servers_of(servers: Vec<NameServerConfig>) -> NameServers {
        let config = ResolverConfig::from_name_servers(servers);
        convert(&config, &ResolverOpts::default()).name_servers
    }

    fn addresses(expected: &[&str]) -> Vec<SocketAddr> {
        expected.iter().map(|address| address.parse().unwrap()).collect()
    }

    #[test]
    fn name_servers_have_the_ports_of_their_protocols() {
        use ProtocolConfig::{Tcp, Udp};

        let servers = name_servers_of(vec![
            NameServerConfig::udp_and_tcp([192, 0, 2, 1].into()),
            server("192.0.2.2", &[(Tcp, 54)]),
            // Without a protocol that is known here.
            server("192.0.2.3", &[]),
            server("2001:db8::1", &[(Tcp, 54), (Udp, 55)]),
            NameServerConfig::udp_and_tcp([192, 0, 2, 1].into()),
        ]);
        assert_eq!(
            servers,
            NameServers {
                addresses: addresses(&["192.0.2.1:53", "[2001:db8::1]:55"]),
                timeout: TIMEOUT,
                attempts: ATTEMPTS,
                rotate: false,
                tcp_only: false,
            }
        );
        let servers = name_servers_of(vec![server("192.0.2.2", &[(Tcp, 54)]), server("192.0.2.3", &[])]);
        assert_eq!(servers.addresses, addresses(&["192.0.2.2:54"]));
        assert!(servers.tcp_only);
        assert_eq!(name_servers_of(Vec::new()).addresses, []);
    }

    #[test]
    fn search_domains_and_options_are_converted() {
        let domain = |text| rr::Name::from_ascii(text).unwrap();
        let mut options = ResolverOpts::default();
        options.ndots = 3;
        options.timeout = Duration::ZERO;
        options.attempts = 0;
        options.server_ordering_strategy = ServerOrderingStrategy::RoundRobin;
        let config = ResolverConfig::from_parts(Some(domain("corp.example.")), Vec::new(), Vec::new());
        let converted = convert(&config, &options);
        assert_eq!(
            (converted.search, converted.ndots),
            (vec!["corp.example.".into()], 3)
        );
        let servers = converted.name_servers;
        assert_eq!(
            (servers.timeout, servers.attempts, servers.rotate),
            (Duration::from_secs(1), 1, true)
        );

        options.timeout = Duration::MAX;
        options.attempts = usize::MAX;
        let search = vec![domain("example"), domain("xn--mnchen-3ya.example.")];
        let config = ResolverConfig::from_parts(Some(domain("corp.example.")), search, Vec::new());
        let converted = convert(&config, &options);
        assert_eq!(converted.search, ["example", "xn--mnchen-3ya.example."]);
        let servers = converted.name_servers;
        assert_eq!((servers.timeout, servers.attempts), (Duration::from_secs(30), 5));
    }
}
