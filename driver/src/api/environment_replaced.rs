//! As `environment`, with parts that tests can replace.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    connection::{Dialer, DnsLookup, LoginEnvironment, MetadataServices, Resolver},
    execution::Jitter,
    options::ClientOptions,
    proto::srv::MIN_RESCAN_INTERVAL,
    types::variables::process_variable,
};

/// The environment variables that a client reads.
#[derive(Clone, Debug, Default)]
pub enum EnvironmentVariables {
    /// The variables of the process.
    #[default]
    Process,
    /// Only these variables.
    Fixed(Vec<(String, String)>),
}

impl EnvironmentVariables {
    /// These and no others.
    pub fn fixed<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self::Fixed(Vec::from(
            variables.map(|(name, value)| (name.to_owned(), value.to_owned())),
        ))
    }
}

/// The environment of a client. The default is that of an application.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Resolves the addresses of servers.
    pub dialer: Dialer,
    /// Queries SRV and TXT records, and addresses.
    pub dns: Arc<dyn DnsLookup>,
    /// The minimum interval between two queries for SRV records. Default: 60 s.
    pub min_rescan_interval: Duration,
    /// The environment variables. Default: those of the process.
    pub variables: EnvironmentVariables,
    /// The file whose existence marks a Docker container. Default: `/.dockerenv`.
    pub docker_marker: PathBuf,
    /// The metadata services that authentication mechanisms use. Default: those of the clouds.
    pub services: MetadataServices,
    /// The cached credentials of `MONGODB-AWS`. Default: those of the process.
    #[cfg(feature = "aws-auth")]
    pub aws_cache: crate::connection::AwsCache,
    /// How connections to the Security Token Service are encrypted.
    #[cfg(feature = "aws-auth")]
    pub sts_tls: crate::options::TlsOptions,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            dialer: Dialer::default(),
            dns: Arc::new(Resolver::default()),
            min_rescan_interval: MIN_RESCAN_INTERVAL,
            variables: EnvironmentVariables::default(),
            docker_marker: PathBuf::from("/.dockerenv"),
            services: MetadataServices::default(),
            #[cfg(feature = "aws-auth")]
            aws_cache: Default::default(),
            #[cfg(feature = "aws-auth")]
            sts_tls: Default::default(),
        }
    }
}

impl Environment {
    pub(super) fn dialer(&self) -> Dialer {
        self.dialer.clone()
    }

    pub(super) fn dns(&self) -> Arc<dyn DnsLookup> {
        Arc::clone(&self.dns)
    }

    pub(super) fn min_rescan_interval(&self) -> Duration {
        self.min_rescan_interval
    }

    /// The value of an environment variable. `None` if it is not set or empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match &self.variables {
            EnvironmentVariables::Process => process_variable(name),
            EnvironmentVariables::Fixed(variables) => {
                let (_, value) = variables.iter().find(|(known, _)| known == name)?;
                (!value.is_empty()).then(|| value.clone())
            }
        }
    }

    /// The cached credentials of the source that the environment has.
    #[cfg(feature = "aws-auth")]
    pub fn cached_aws_credentials(&self) -> Option<crate::options::AwsCredentials> {
        self.aws_cache.get_for(&self.login())
    }

    /// Replaces the cached credentials of the source that the environment has.
    #[cfg(feature = "aws-auth")]
    pub fn cache_aws_credentials(&self, credentials: Option<crate::options::AwsCredentials>) {
        self.aws_cache.set_for(&self.login(), credentials);
    }

    pub(super) fn login(&self) -> LoginEnvironment {
        let environment = self.clone();
        LoginEnvironment {
            variables: Arc::new(move |name| environment.variable(name)),
            services: self.services.clone(),
            #[cfg(feature = "aws-auth")]
            aws_cache: self.aws_cache.clone(),
            #[cfg(feature = "aws-auth")]
            sts_tls: self.sts_tls.clone(),
            #[cfg(feature = "gssapi")]
            dns: self.dns(),
        }
    }

    pub(super) fn is_docker(&self) -> bool {
        self.docker_marker.exists()
    }

    pub(super) fn jitter(&self, options: &ClientOptions) -> Jitter {
        Jitter(options.overrides.jitter)
    }

    pub(super) fn log_tag(&self, options: &ClientOptions) -> Option<String> {
        options.overrides.log_tag.clone()
    }
}
