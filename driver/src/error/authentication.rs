//! Errors of authentication.

use std::fmt;

use super::{CommandError, ErrorKind, kerberos::KerberosError};

/// Authentication on a new connection failed. The error contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthenticationError {
    /// The mechanism, as `authMechanism` spells it, e.g. `SCRAM-SHA-256`.
    pub mechanism: &'static str,
    /// The user name of the credential. `None` if it has none.
    pub username: Option<String>,
    /// `authSource`: the database in which the user was looked for. Empty before a message was sent.
    pub source: String,
    /// The cause of the failure.
    pub failure: AuthenticationFailure,
}

/// The cause of an [`AuthenticationError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthenticationFailure {
    /// The server rejected the authentication: the user does not exist, the password is wrong, or
    /// the user or the server does not support the mechanism.
    Refused(CommandError),
    /// A message of the server violates the mechanism, e.g. a SCRAM server signature that does not
    /// verify. The server may not be the one it claims to be. The text names the violated rule.
    Conversation(String),
    /// The password contains a character that SCRAM-SHA-256 does not allow (SASLprep, RFC 4013).
    Password,
    /// The client could not compute its response: the operating system returned no random numbers,
    /// or the tokio runtime is shutting down.
    Unavailable(String),
    /// The access token or the credentials could not be obtained: a callback of the application, a
    /// file or a metadata service failed, or did not answer in time. The text names the source.
    Credentials(String),
    /// The human flow of `MONGODB-OIDC` does not send tokens to this host:
    /// [`allowed_hosts`](crate::options::Credential::allowed_hosts) does not contain it.
    HostNotAllowed(String),
    /// Kerberos did not authenticate the user of `GSSAPI`, e.g. because there is no ticket.
    Kerberos(Box<KerberosError>),
}

impl AuthenticationError {
    pub(crate) fn new(mechanism: &'static str, failure: AuthenticationFailure) -> Self {
        Self {
            mechanism,
            username: None,
            source: String::new(),
            failure,
        }
    }

    /// The same for this user.
    pub(crate) fn of_user(mut self, username: Option<&str>, source: &str) -> Self {
        self.username = username.map(str::to_owned);
        source.clone_into(&mut self.source);
        self
    }

    /// The error reply of the server, for [`AuthenticationFailure::Refused`].
    pub(crate) fn refusal(&self) -> Option<&CommandError> {
        match &self.failure {
            AuthenticationFailure::Refused(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for AuthenticationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "{error}"),
            Self::Conversation(why) | Self::Unavailable(why) | Self::Credentials(why) => f.write_str(why),
            Self::Kerberos(error) => write!(f, "{error}"),
            Self::HostNotAllowed(host) => write!(
                f,
                "tokens are not sent to the host {host}, which is not one of allowed_hosts (ALLOWED_HOSTS)"
            ),
            Self::Password => {
                f.write_str("the password contains characters that SASLprep (RFC 4013) does not allow")
            }
        }
    }
}

impl fmt::Display for AuthenticationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("authentication ")?;
        if let Some(username) = &self.username {
            write!(f, "of user {username:?} ")?;
        }
        if !self.source.is_empty() {
            write!(f, "(authSource={}) ", self.source)?;
        }
        write!(f, "by {} failed: {}", self.mechanism, self.failure)
    }
}

impl From<AuthenticationError> for ErrorKind {
    fn from(error: AuthenticationError) -> Self {
        Self::Authentication(error)
    }
}

impl std::error::Error for AuthenticationError {}
