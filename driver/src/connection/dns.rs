//! DNS lookups of the driver, independent of the implementation.

use std::{fmt, net::IpAddr, pin::Pin};

use tokio::net::lookup_host;

use crate::proto::srv::{SrvRecord, TxtRecord};

/// Why a lookup has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// The answer is that there are no records.
    NoRecords(String),
    /// No answer was received.
    Failed(String),
    /// The build or the platform does not support the lookup.
    #[cfg_attr(
        all(feature = "hickory", not(feature = "internals")),
        expect(dead_code, reason = "with `hickory`, every lookup is supported")
    )]
    Unavailable(String),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecords(why) | Self::Failed(why) | Self::Unavailable(why) => f.write_str(why),
        }
    }
}

/// A lookup in progress. Dropping it cancels the lookup.
pub type Lookup<'a, T> = Pin<Box<dyn Future<Output = Result<Vec<T>, LookupError>> + Send + 'a>>;

/// Looks up DNS records.
pub trait DnsLookup: fmt::Debug + Send + Sync {
    /// The SRV records of a fully qualified name: search domains do not apply.
    fn srv<'a>(&'a self, name: &'a str) -> Lookup<'a, SrvRecord>;

    /// The TXT records of a fully qualified name.
    fn txt<'a>(&'a self, name: &'a str) -> Lookup<'a, TxtRecord>;

    /// The IPv4 and IPv6 addresses of a host in the order of preference, from DNS and the other
    /// sources of the system. At least one, or an error. Not called for `localhost` and IP
    /// addresses.
    fn addresses<'a>(&'a self, host: &'a str) -> Lookup<'a, IpAddr> {
        Box::pin(ask_system(host))
    }

    /// The CNAME records of a fully qualified name: search domains do not apply.
    #[cfg(feature = "gssapi")]
    fn canonical_names<'a>(&'a self, name: &'a str) -> Lookup<'a, String> {
        Box::pin(std::future::ready(Err(not_implemented(&name))))
    }

    /// The PTR records of an address.
    #[cfg(feature = "gssapi")]
    fn host_names(&self, address: IpAddr) -> Lookup<'_, String> {
        Box::pin(std::future::ready(Err(not_implemented(&address))))
    }
}

#[cfg(feature = "gssapi")]
fn not_implemented(name: &dyn fmt::Display) -> LookupError {
    LookupError::Unavailable(format!(
        "the canonical name of {name} is not looked up by this resolver"
    ))
}

/// Looks up addresses by the system's resolver, which blocks a thread of tokio.
pub(super) async fn ask_system(host: &str) -> Result<Vec<IpAddr>, LookupError> {
    match lookup_host((host, 0)).await {
        Ok(found) => {
            let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            if addresses.is_empty() {
                Err(LookupError::NoRecords(format!(
                    "the system knows no address of {host}"
                )))
            } else {
                Ok(addresses)
            }
        }
        // The system does not distinguish an unknown name from a missing answer.
        Err(error) => Err(LookupError::Failed(format!(
            "the system knows no address of {host}: {error}"
        ))),
    }
}
