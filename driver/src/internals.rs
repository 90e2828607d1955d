//! The driver's machines and some of its shells, opened for the tests that run one of them alone.
//!
//! Nothing here is part of the public interface: it changes without notice, whatever the version number says.
//!
//! [`Pool::new`] creates a pool without a deployment: it is paused until [`Pool::ready`], emits
//! events to the listener in its [`PoolSettings`], and gives connections through
//! [`Pool::check_out`]; dropping a [`PooledConnection`] checks it in. [`Pool::clear`] takes the
//! service and whether to interrupt. `maintenance_interval: None` stops the background task. The
//! [`PoolListener`] stands for the deployment: it is called after failed handshakes and may clear
//! the pool.
//!
//! [`sdam::handle_application_error`] handles an error of a pooled connection,
//! [`sdam::handle_check_error`] that of a check; both return an [`sdam::ErrorAction`].
//! [`sdam::apply`] applies the result of a check to a description, and [`sdam::events`] makes the
//! events of the change.

mod client;
pub mod describe;
pub mod errors;

use crate::{
    Error, ErrorKind, NetworkPhase, Result,
    options::{ClientOptions, Credential, WriteConcern},
    types::secret::Secret,
};

#[cfg(feature = "dns")]
pub use crate::proto::dns;
pub use crate::{
    api::{Environment, EnvironmentVariables as Variables},
    connection::{
        Connection, ConnectionSettings, Dialer, DnsLookup, LoginSettings, Lookup, LookupError, Resolver,
        TlsConfig,
    },
    pool::{Pool, PoolListener, PoolSettings, PooledConnection},
    proto::{
        auth, cmap, command, description, event, handshake, happy_eyeballs, monitoring, retry, sdam,
        server_selection, session, socks5, srv, wire,
    },
    types::deadline::Deadline,
};
pub use client::{describe, hosts, wait_for_description, wait_for_hosts, wait_for_topology};

/// A socket that failed, as the shells report it to the machines.
pub fn network_error(phase: NetworkPhase, error: std::io::Error) -> Error {
    Error::network(phase, error)
}

/// An error of this kind, as the layers make them.
pub fn error(kind: ErrorKind) -> Error {
    Error::new(kind)
}

/// The error with labels that a server or the pool put on it.
pub fn labelled<const N: usize>(error: Error, labels: [&str; N]) -> Error {
    error.with_labels(labels.map(str::to_owned))
}

/// The secrets in the options of a client, which the public interface does not give back.
pub struct Secrets<'a> {
    /// Of the user.
    pub password: Option<&'a str>,
    /// `proxyPassword`
    pub proxy_password: Option<&'a str>,
    /// `tlsCertificateKeyFilePassword`
    pub certificate_key_file_password: Option<&'a str>,
}

/// Reads the secrets.
pub fn secrets(options: &ClientOptions) -> Secrets<'_> {
    let proxy = options.proxy.as_ref();
    Secrets {
        password: options.credential.as_ref().and_then(password),
        proxy_password: proxy.and_then(|proxy| proxy.password.as_ref()).map(reveal),
        certificate_key_file_password: options.tls.certificate_key_file_password.as_ref().map(reveal),
    }
}

/// The credential that a client with these options proves itself by, every default filled in. The same rules run when a
/// client is made.
///
/// # Errors
/// A credential that its mechanism cannot use.
pub fn resolved_credential(options: &ClientOptions) -> Result<Option<Credential>> {
    options.resolved_credential()
}

/// The password in a credential.
pub fn password(credential: &Credential) -> Option<&str> {
    credential.password().map(reveal)
}

fn reveal(secret: &Secret) -> &str {
    &secret.0
}

/// Refuses what a client or a command refuses: a write concern that contradicts itself.
///
/// # Errors
/// The contradiction.
pub fn validate_write_concern(concern: &WriteConcern) -> Result<()> {
    concern.validate().map_err(Error::invalid_argument)
}

/// Fixes the random factor of the pauses before retries: 0 for none, just under 1 for the longest.
pub fn fix_jitter(options: &mut ClientOptions, jitter: f64) {
    options.overrides.jitter = Some(jitter);
}

/// Adds a field `clientTag` to each log message of clients with these options, so that a test finds them among others.
pub fn tag_logs(options: &mut ClientOptions, tag: impl Into<String>) {
    options.overrides.log_tag = Some(tag.into());
}
