//! Access to the state machines and to parts of the async code, for the tests of this workspace.
//!
//! This module is not part of the public API: it may change in every release.
//!
//! [`Pool::new`] creates a pool without a deployment. The pool is paused until [`Pool::ready`]; it
//! emits events to the listener in its [`PoolSettings`]. [`Pool::check_out`] returns a connection;
//! dropping the [`PooledConnection`] checks it in. [`Pool::clear`] takes the service ID and whether
//! connections in use are interrupted. `maintenance_interval: None` disables the background task.
//! The [`PoolListener`] takes the place of the deployment: it is called after failed handshakes and
//! may clear the pool.
//!
//! [`sdam::handle_application_error`] handles an error of a pooled connection,
//! [`sdam::handle_check_error`] that of a check; both return an [`sdam::ErrorAction`].
//! [`sdam::apply`] applies the result of a check to a description, and [`sdam::events`] returns the
//! events of the change.

mod client;
pub mod describe;
#[cfg(feature = "encryption")]
pub mod encryption;
pub mod errors;
pub mod sessions;

use crate::{
    Error, ErrorKind, NetworkPhase, Result,
    options::{ClientOptions, Credential, WriteConcern},
    types::secret::Secret,
};

pub use crate::api::{Environment, EnvironmentVariables as Variables};
#[cfg(feature = "aws-auth")]
pub use crate::connection::{AwsCache, untrusted};
pub use crate::connection::{
    Condition, Connection, ConnectionSettings, Dialer, DnsLookup, LoginEnvironment, LoginSettings, Lookup,
    LookupError, MetadataServices, Resolver, TlsConfig,
};
pub use crate::pool::{Pool, PoolListener, PoolSettings, PooledConnection};
#[cfg(feature = "dns")]
pub use crate::proto::dns;
pub use crate::proto::{
    auth, bulk_write, change_stream, cmap, command, description, event, gridfs, handshake, happy_eyeballs,
    monitoring, retry, sdam, server_selection, session, socks5, srv, wire,
};
pub use crate::types::deadline::Deadline;
pub use client::{
    cached_oidc_token, describe, hosts, set_cached_oidc_token, wait_for_description, wait_for_hosts,
    wait_for_topology, wait_until_idle,
};

/// A network error as the connection reports it.
pub fn network_error(phase: NetworkPhase, error: std::io::Error) -> Error {
    Error::network(phase, error)
}

pub fn error(kind: ErrorKind) -> Error {
    Error::new(kind)
}

/// Adds labels as a server or the pool does.
pub fn labeled<const N: usize>(error: Error, labels: [&str; N]) -> Error {
    error.with_labels(labels.map(str::to_owned))
}

/// The secrets in the options of a client. The public API does not return them.
pub struct Secrets<'a> {
    /// The password of the credential.
    pub password: Option<&'a str>,
    /// `proxyPassword`
    pub proxy_password: Option<&'a str>,
    /// `tlsCertificateKeyFilePassword`
    pub certificate_key_file_password: Option<&'a str>,
}

pub fn secrets(options: &ClientOptions) -> Secrets<'_> {
    let proxy = options.proxy.as_ref();
    Secrets {
        password: options.credential.as_ref().and_then(password),
        proxy_password: proxy.and_then(|proxy| proxy.password.as_ref()).map(reveal),
        certificate_key_file_password: options.tls.certificate_key_file_password.as_ref().map(reveal),
    }
}

/// The credential that a client with these options authenticates with, with all defaults applied.
/// Creating a client applies the same rules.
///
/// # Errors
/// The credential does not fit its mechanism.
pub fn resolved_credential(options: &ClientOptions) -> Result<Option<Credential>> {
    options.resolved_credential()
}

pub fn password(credential: &Credential) -> Option<&str> {
    credential.password().map(reveal)
}

fn reveal(secret: &Secret) -> &str {
    secret.expose()
}

/// Validates a write concern as clients and commands do.
///
/// # Errors
/// The fields contradict each other.
pub fn validate_write_concern(concern: &WriteConcern) -> Result<()> {
    concern.validate().map_err(Error::invalid_argument)
}

/// Fixes the random factor of the backoff before retries: 0 for no delay, just under 1 for the
/// longest.
pub fn fix_jitter(options: &mut ClientOptions, jitter: f64) {
    options.overrides.jitter = Some(jitter);
}

/// Adds the field `clientTag` to each log message of clients with these options, so that a test can
/// select its own messages.
pub fn tag_logs(options: &mut ClientOptions, tag: impl Into<String>) {
    options.overrides.log_tag = Some(tag.into());
}
