//! What a client uses of the world: sockets, DNS, environment variables, and how often it may ask that. Tests put their own in its place.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    connection::{Dialer, DnsLookup, Resolver},
    proto::srv::MIN_RESCAN_INTERVAL,
    types::variables::Variables,
};

/// See the module; the default is the real world.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Knows where servers are.
    pub dialer: Dialer,
    /// Asks for SRV and TXT records, and for addresses.
    pub dns: Arc<dyn DnsLookup>,
    /// SRV records are asked for again no sooner than this. 60 s, says the specification.
    pub min_rescan_interval: Duration,
    /// The environment variables.
    pub variables: Variables,
    /// The file by which containers of Docker are known.
    pub docker_marker: PathBuf,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            dialer: Dialer::default(),
            dns: Arc::new(Resolver::default()),
            min_rescan_interval: MIN_RESCAN_INTERVAL,
            variables: Variables::default(),
            docker_marker: PathBuf::from("/.dockerenv"),
        }
    }
}
