//! A user who could not be logged in.

use std::fmt;

use super::{CommandError, ErrorKind};

/// A login that failed. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthenticationError {
    /// The mechanism, as the specifications spell it.
    pub mechanism: &'static str,
    /// Why.
    pub failure: AuthenticationFailure,
}

/// Why a login failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthenticationFailure {
    /// The server refused: a user that does not exist, a wrong password, a mechanism that the user or the server does not have.
    Refused(CommandError),
    /// The server broke the rules of the mechanism: it may not be the server that it claims to be. The text says which rule.
    Conversation(String),
    /// The password holds letters that SCRAM-SHA-256 does not allow (RFC 4013).
    Password,
    /// The operating system gave no random numbers, or the runtime is ending.
    Unavailable(String),
}

impl AuthenticationError {
    pub(crate) fn new(mechanism: &'static str, failure: AuthenticationFailure) -> Self {
        Self { mechanism, failure }
    }

    /// What the server said, if it refused.
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
            Self::Conversation(why) | Self::Unavailable(why) => f.write_str(why),
            Self::Password => f.write_str("the password holds characters that are not allowed"),
        }
    }
}

impl fmt::Display for AuthenticationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "authentication by {} failed: {}", self.mechanism, self.failure)
    }
}

impl From<AuthenticationError> for ErrorKind {
    fn from(error: AuthenticationError) -> Self {
        Self::Authentication(error)
    }
}

impl std::error::Error for AuthenticationError {}
