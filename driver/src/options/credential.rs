//! Credentials ([Authentication]).
//!
//! [Authentication]:
//! https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{collections::BTreeMap, fmt};

use crate::types::secret::Secret;

/// An authentication mechanism.
///
/// This version implements SCRAM, X.509 and PLAIN. Creating a client with another mechanism fails
/// with [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthMechanism {
    /// `SCRAM-SHA-1`: user name and password, with SHA-1.
    ScramSha1,
    /// `SCRAM-SHA-256`: user name and password, with SHA-256.
    ScramSha256,
    /// `MONGODB-X509`: the client certificate in
    /// [`certificate_key_file`](super::TlsOptions::certificate_key_file).
    MongoDbX509,
    /// `PLAIN`: user name and password, for LDAP. The password is sent without encryption unless
    /// `tls=true`.
    Plain,
    /// `GSSAPI`: Kerberos. Not implemented.
    Gssapi,
    /// `MONGODB-AWS`: AWS IAM credentials. Not implemented.
    MongoDbAws,
    /// `MONGODB-OIDC`: OpenID Connect. Not implemented.
    MongoDbOidc,
}

impl AuthMechanism {
    /// The mechanism as `authMechanism` spells it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ScramSha1 => "SCRAM-SHA-1",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::MongoDbX509 => "MONGODB-X509",
            Self::Plain => "PLAIN",
            Self::Gssapi => "GSSAPI",
            Self::MongoDbAws => "MONGODB-AWS",
            Self::MongoDbOidc => "MONGODB-OIDC",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [
            Self::ScramSha1,
            Self::ScramSha256,
            Self::MongoDbX509,
            Self::Plain,
            Self::Gssapi,
            Self::MongoDbAws,
            Self::MongoDbOidc,
        ]
        .into_iter()
        .find(|mechanism| mechanism.as_str() == text)
    }
}

/// User name, password and mechanism. `Debug` prints neither the password nor the properties of the
/// mechanism.
///
/// Every connection of a pool authenticates after its handshake, within `connectTimeoutMS`;
/// connections of monitors do not authenticate. Without a mechanism, SCRAM-SHA-256 is used if the
/// server supports it for the user, and SCRAM-SHA-1 otherwise. If authentication fails, the
/// operation fails with [`ErrorKind::Authentication`](crate::ErrorKind::Authentication).
///
/// A credential that lacks a part that its mechanism requires, or has one that it does not allow,
/// is an [`InvalidArgument`](crate::ErrorKind::InvalidArgument) error when the client is created.
///
/// ```
/// use marula_driver::options::{ClientOptions, Credential};
///
/// let mut options = ClientOptions::parse("mongodb://db1.example.com")?;
/// let mut credential = Credential::default().with_password("correct horse");
/// credential.username = Some("ada".to_owned());
/// options.credential = Some(credential);
/// # Ok::<(), marula_driver::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credential {
    /// The user name. Required by SCRAM, PLAIN and GSSAPI. Optional for X.509: the server uses the
    /// subject of the client certificate.
    pub username: Option<String>,
    /// `authSource`: the database in which the user is defined. `None`: for SCRAM the database in
    /// the connection string, or `admin`; for PLAIN the database in the connection string, or
    /// `$external`; for other mechanisms `$external`, which is the only value that they allow.
    pub source: Option<String>,
    /// `authMechanism`. `None`: negotiated, SCRAM-SHA-256 or SCRAM-SHA-1.
    pub mechanism: Option<AuthMechanism>,
    /// `authMechanismProperties`. Names are case-insensitive. The mechanisms that this version
    /// implements have no properties: a property is an error. Default: none.
    pub mechanism_properties: BTreeMap<String, String>,
    password: Option<Secret>,
}

impl Credential {
    /// Sets the password. It cannot be read back. Required by SCRAM and PLAIN, not allowed for
    /// X.509.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret::new(password));
        self
    }

    pub(crate) fn set_password(&mut self, password: Secret) {
        self.password = Some(password);
    }

    pub(crate) fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// Whether a password is set.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("username", &self.username)
            .field("source", &self.source)
            .field("mechanism", &self.mechanism)
            .field("password", &self.password)
            .finish_non_exhaustive()
    }
}
