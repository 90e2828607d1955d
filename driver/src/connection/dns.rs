//! What the driver asks DNS for, whoever answers.

use std::{fmt, net::IpAddr, pin::Pin};

use tokio::net::lookup_host;

use crate::proto::srv::{SrvRecord, TxtRecord};

/// Why DNS gave no records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// There are none, says an answer.
    NoRecords(String),
    /// There is no answer.
    Failed(String),
    /// The driver was built without the means to ask.
    #[cfg_attr(
        all(feature = "dns", not(feature = "internals")),
        expect(
            dead_code,
            reason = "returned by the resolver of a build without the feature `dns`"
        )
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

/// A lookup under way. Dropping it gives it up.
pub type Lookup<'a, T> = Pin<Box<dyn Future<Output = Result<Vec<T>, LookupError>> + Send + 'a>>;

/// Asks DNS.
pub trait DnsLookup: fmt::Debug + Send + Sync {
    /// The SRV records of a name, which is complete: no search domain is to be tried.
    fn srv<'a>(&'a self, name: &'a str) -> Lookup<'a, SrvRecord>;

    /// The TXT records of a name, which is complete.
    fn txt<'a>(&'a self, name: &'a str) -> Lookup<'a, TxtRecord>;

    /// The addresses of a host, in the order of preference, of both address families: those of DNS, and whatever else the system
    /// looks into. At least one, or an error. Never asked for `localhost`, nor for what is an address already.
    fn addresses<'a>(&'a self, host: &'a str) -> Lookup<'a, IpAddr> {
        Box::pin(ask_system(host))
    }
}

/// The addresses by the system's own resolver, which blocks one of tokio's threads.
pub(super) async fn ask_system(host: &str) -> Result<Vec<IpAddr>, LookupError> {
    match lookup_host((host, 0)).await {
        Ok(found) => {
            let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            match addresses.is_empty() {
                true => Err(LookupError::NoRecords(format!(
                    "the system knows no address of {host}"
                ))),
                false => Ok(addresses),
            }
        }
        // The system does not tell apart whether there is no such name or no answer.
        Err(error) => Err(LookupError::Failed(format!(
            "the system knows no address of {host}: {error}"
        ))),
    }
}
