//! Who the client is (Authentication specification).

use std::{collections::BTreeMap, fmt};

use crate::types::secret::Secret;

/// How a client proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthMechanism {
    /// `SCRAM-SHA-1`
    ScramSha1,
    /// `SCRAM-SHA-256`
    ScramSha256,
    /// `MONGODB-X509`
    MongoDbX509,
    /// `PLAIN`
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
