//! The name servers in `/etc/resolv.conf`, see resolv.conf(5); addresses by the system's resolver.

use std::{
    fs::File,
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use resolv_conf::{Config, ScopedIp};
use tokio::{net::lookup_host, task::spawn_blocking};

use super::{MAX_ATTEMPTS, MAX_TIMEOUT, MIN_TIMEOUT};
pub(super) use crate::connection::dns::ask_system as addresses;
use crate::{connection::dns::LookupError, proto::dns::NameServers};

/// The port of name servers.
const PORT: u16 = 53;

const PATH: &str = "/etc/resolv.conf";

/// Maximum number of bytes read of the file.
const MAX_FILE: u64 = 1 << 16;

/// Whether the platform configures its name servers in the file.
const IS_IN_FILE: bool = cfg!(all(unix, not(target_os = "android")));

/// Reads the configuration.
pub(super) async fn name_servers() -> Result<NameServers, LookupError> {
    if !IS_IN_FILE {
        return Err(LookupError::Unavailable(
            "mongodb+srv: on this platform, marula-driver finds name servers only with its feature hickory"
                .into(),
        ));
    }
    let text = spawn_blocking(read)
        .await
        .unwrap_or_else(|error| Err(error.into()))
        .map_err(|error| LookupError::Failed(format!("{PATH} cannot be read: {error}")))?;
    Ok(parse(&text).await)
}

/// The content of the file. Empty if it does not exist or is not readable.
fn read() -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    match File::open(PATH) {
        Ok(file) => file.take(MAX_FILE).read_to_end(&mut text).map(|_| text),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(text)
        }
        Err(error) => Err(error),
    }
}

async fn parse(text: &[u8]) -> NameServers {
    // Invalid lines are skipped, as the C library does.
    let (config, _) = Config::parse_with_errors(text);
    let mut addresses = Vec::new();
    for server in &config.nameservers {
        addresses.extend(address(server).await);
    }
    if addresses.is_empty() {
        addresses.push((Ipv4Addr::LOCALHOST, PORT).into());
    }
    NameServers {
        addresses,
        timeout: Duration::from_secs(config.timeout.into()).clamp(MIN_TIMEOUT, MAX_TIMEOUT),
        attempts: usize::try_from(config.attempts)
            .unwrap_or(MAX_ATTEMPTS)
            .clamp(1, MAX_ATTEMPTS),
        rotate: config.rotate,
        tcp_only: config.use_vc,
    }
}

/// `None` for an IPv6 address whose zone does not exist.
async fn address(server: &ScopedIp) -> Option<SocketAddr> {
    match server {
        // The system resolves the name of the zone.
        ScopedIp::V6(_, Some(_)) => lookup_host((server.to_string(), PORT)).await.ok()?.next(),
        ScopedIp::V4(_) | ScopedIp::V6(_, None) => Some(SocketAddr::new(IpAddr::from(server), PORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{ATTEMPTS, TIMEOUT},
        *,
    };

    #[tokio::test]
    async fn servers_and_options_are_parsed() {
        let text = "# made by hand\nnameserver 192.0.2.1\nsearch example.com\nnameserver 2001:db8::1 ; the second\n\
                    options timeout:1 attempts:4 rotate edns0 use-vc ndots:2\nnonsense\nnameserver somewhere\n";
        let servers = parse(text.as_bytes()).await;
        let expected = ["192.0.2.1:53", "[2001:db8::1]:53"].map(|address| address.parse().unwrap());
        assert_eq!(
            servers,
            NameServers {
                addresses: expected.to_vec(),
                timeout: Duration::from_secs(1),
                attempts: 4,
                rotate: true,
                tcp_only: true,
            }
        );
    }

    #[tokio::test]
    async fn the_default_server_is_this_machine() {
        for text in [
            "",
            "nameserver\n",
            "options rotate\n",
            "nameserver fe80::1%no-such-zone\n",
        ] {
            let servers = parse(text.as_bytes()).await;
            assert_eq!(servers.addresses, ["127.0.0.1:53".parse().unwrap()], "{text}");
            assert_eq!((servers.timeout, servers.attempts), (TIMEOUT, ATTEMPTS));
        }
    }

    #[tokio::test]
    async fn zones_and_limits_are_those_of_the_system() {
        let servers = parse(b"nameserver fe80::1%1\noptions timeout:0 attempts:0\n").await;
        assert_eq!(servers.addresses, ["[fe80::1%1]:53".parse().unwrap()]);
        assert_eq!((servers.timeout, servers.attempts), (Duration::from_secs(1), 1));
        let servers = parse(b"options timeout:4000000000 attempts:4000000000 \xff\n").await;
        assert_eq!(servers.attempts, ATTEMPTS, "a line that is not UTF-8");
        let servers = parse(b"options timeout:4000000000 attempts:4000000000\n").await;
        assert_eq!((servers.timeout, servers.attempts), (Duration::from_secs(30), 5));
    }
}
