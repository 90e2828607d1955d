//! What a client takes from the process and the system: DNS, environment variables, the marker file of Docker. Its twin
//! `environment_replaced` lets tests replace each.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    connection::{Dialer, DnsLookup, Resolver},
    execution::Jitter,
    options::ClientOptions,
    proto::srv::MIN_RESCAN_INTERVAL,
    types::variables::process_variable,
};

/// The process and the system.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    dns: Arc<dyn DnsLookup>,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            dns: Arc::new(Resolver::default()),
        }
    }
}

impl Environment {
    pub(super) fn dialer(&self) -> Dialer {
        Dialer
    }

    pub(super) fn dns(&self) -> Arc<dyn DnsLookup> {
        Arc::clone(&self.dns)
    }

    /// The shortest time between two lookups of SRV records.
    pub(super) fn min_rescan_interval(&self) -> Duration {
        MIN_RESCAN_INTERVAL
    }

    /// The value of an environment variable that is set and not empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        process_variable(name)
    }

    /// Whether the process runs in a container of Docker (MongoDB Handshake specification, `client.env.container`).
    pub(super) fn is_docker(&self) -> bool {
        Path::new("/.dockerenv").exists()
    }

    pub(super) fn jitter(&self, _: &ClientOptions) -> Jitter {
        Jitter
    }

    pub(super) fn log_tag(&self, _: &ClientOptions) -> Option<String> {
        None
    }
}
