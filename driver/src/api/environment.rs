//! The environment of a client: DNS, environment variables, and the marker file of Docker
//! containers. `environment_replaced` takes the place of this module in tests.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    connection::{Dialer, DnsLookup, LoginEnvironment, MetadataServices, Resolver},
    execution::Jitter,
    options::ClientOptions,
    proto::srv::MIN_RESCAN_INTERVAL,
    types::variables::process_variable,
};

/// The environment variables of the process and the DNS of the system.
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

    /// The minimum interval between two queries for SRV records (`minHeartbeatFrequencyMS` of SRV
    /// polling, 60 s).
    pub(super) fn min_rescan_interval(&self) -> Duration {
        MIN_RESCAN_INTERVAL
    }

    /// The value of an environment variable. `None` if it is not set or empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        process_variable(name)
    }

    /// The sources of tokens and credentials of authentication mechanisms.
    pub(super) fn login(&self) -> LoginEnvironment {
        LoginEnvironment {
            variables: Arc::new(process_variable),
            services: MetadataServices::default(),
            #[cfg(feature = "aws-auth")]
            aws_cache: Default::default(),
            #[cfg(feature = "aws-auth")]
            sts_tls: Default::default(),
            #[cfg(feature = "gssapi")]
            dns: self.dns(),
        }
    }

    /// Whether the process runs in a Docker container (MongoDB Handshake, "Container").
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
