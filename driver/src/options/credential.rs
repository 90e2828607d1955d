//! Who the client is (Authentication specification).

use std::{collections::BTreeMap, fmt};

use crate::types::secret::Secret;

/// How a client proves who it is.
///
/// This version speaks SCRAM, X.509 and PLAIN. A client with another mechanism is refused
/// ([`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported)).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthMechanism {
    /// `SCRAM-SHA-1`
    ScramSha1,
    /// `SCRAM-SHA-256`
    ScramSha256,
    /// `MONGODB-X509`: the certificate of `tlsCertificateKeyFile`.
    MongoDbX509,
    /// `PLAIN`, for servers that ask LDAP. The password is sent as it is: encrypt the connections.
    Plain,
    /// `GSSAPI`
    Gssapi,
    /// `MONGODB-AWS`
    MongoDbAws,
    /// `MONGODB-OIDC`
    MongoDbOidc,
}

impl AuthMechanism {
    /// The mechanism as the specifications spell it.
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

/// Name, password and mechanism. `Debug` shows no password and no mechanism property.
///
/// Every connection that operations use logs in when it is opened, within `connectTimeoutMS`; monitors do not. Where no
/// mechanism is named, it is SCRAM-SHA-256 if the server has that for the user, else SCRAM-SHA-1. A refused login fails the
/// operation with [`ErrorKind::Authentication`](crate::ErrorKind::Authentication).
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
    /// The user's name.
    pub username: Option<String>,
    /// The database that knows the user. `None`: the mechanism's default.
    pub source: Option<String>,
    /// The mechanism. `None`: negotiated.
    pub mechanism: Option<AuthMechanism>,
    /// Properties of the mechanism.
    pub mechanism_properties: BTreeMap<String, String>,
    password: Option<Secret>,
}

impl Credential {
    /// Sets the password, which cannot be read back.
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

    /// Whether a password was given.
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
