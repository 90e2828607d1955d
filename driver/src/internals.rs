//! The driver's machines and some of its shells, opened for the tests that run one of them alone.
//!
//! Nothing here is part of the public interface: it changes without notice, whatever the version number says.

pub mod describe;
pub mod errors;

use crate::{
    Error, Result,
    options::{ClientOptions, Credential, WriteConcern},
    types::secret::Secret,
};

pub use crate::{
    connection::{Connection, ConnectionSettings},
    pool::{Pool, PoolListener, PoolSettings, PooledConnection},
    proto::{cmap, command, description, event, handshake, retry, sdam, server_selection, session, wire},
    types::deadline::Deadline,
};

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
    options.jitter = Some(jitter);
}
