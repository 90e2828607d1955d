//! The time limits of one login, and the error of one that expired.

use std::{fmt, io, time::Duration};

use super::{LoginSettings, Unfinished, named};
#[cfg(feature = "aws-auth")]
use crate::connection::source_error::SourceError;
use crate::{Error, NetworkPhase, proto::auth::OidcFlow, types::deadline::Deadline};

/// The time limits of one login.
#[derive(Clone, Copy, Debug)]
pub(in crate::connection) struct LoginLimits {
    /// The end of the login. It is moved by the time that is spent outside it.
    pub(super) deadline: Deadline,
    /// `connectTimeoutMS`, at whose end the deadline is.
    connect_timeout: Duration,
    /// `timeoutMS`, if it applies.
    pub(super) operation: Deadline,
    /// The limit of each command.
    pub(super) command: Option<Duration>,
}

/// What a login waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Awaited<'a> {
    /// The reply to this command.
    Reply(&'a str),
    Keys,
    Token,
    /// The error names their source.
    #[cfg(feature = "aws-auth")]
    Credentials(&'a SourceError),
    #[cfg(feature = "gssapi")]
    SecurityContext,
}

impl fmt::Display for Awaited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(command) => write!(f, "the reply of the server to {command}"),
            Self::Keys => f.write_str("the keys that are derived from the password"),
            Self::Token => f.write_str("an access token of the callback or of the environment"),
            #[cfg(feature = "aws-auth")]
            Self::Credentials(cause) => write!(f, "AWS credentials: {cause}"),
            #[cfg(feature = "gssapi")]
            Self::SecurityContext => f.write_str("the Kerberos library (key distribution center)"),
        }
    }
}

impl LoginLimits {
    /// The limits of a new connection, whose `connectTimeoutMS` ends at the deadline. `command` is `timeoutMS`.
    pub(in crate::connection) fn new(
        deadline: Deadline,
        connect_timeout: Duration,
        command: Option<Duration>,
    ) -> Self {
        Self {
            deadline,
            connect_timeout,
            operation: Deadline::after(command),
            command,
        }
    }

    /// The limits of reauthentication for an operation with this deadline.
    pub(super) fn of_operation(connect_timeout: Duration, operation: Deadline) -> Self {
        Self {
            deadline: Deadline::after(Some(connect_timeout)).min(operation),
            connect_timeout,
            operation,
            command: None,
        }
    }

    /// The deadline of a callback or an environment in the machine flow: never without `timeoutMS`.
    pub(super) fn of_machine(self) -> Deadline {
        match self.operation.remaining() {
            Some(_) => self.deadline.min(self.operation),
            None => Deadline::NEVER,
        }
    }

    /// Whether `timeoutMS` has expired.
    pub(super) fn is_operation_expired(self) -> bool {
        self.operation.remaining().is_some_and(|left| left.is_zero())
    }

    /// A time limit expired while the login waited. If a source outside the driver did not answer, no socket timed out, unless
    /// `timeoutMS` expired: another connection to the server would not help.
    pub(super) fn expired(self, awaited: Awaited<'_>, settings: &LoginSettings) -> Unfinished {
        let limit = self.limit();
        let is_own = matches!(awaited, Awaited::Reply(_) | Awaited::Keys);
        if is_own || self.is_operation_expired() {
            let user = named(settings);
            let text = format!("no answer within {limit}: {user} waited for {awaited}");
            let error = io::Error::new(io::ErrorKind::TimedOut, text);
            return Error::network(NetworkPhase::Authentication, error).into();
        }
        settings
            .no_credentials(&format_args!("waited for {awaited}: no answer within {limit}"))
            .into()
    }

    /// The time limit that expired: its name, and its length if it is known.
    fn limit(self) -> String {
        if self.is_operation_expired() {
            return match self.command {
                Some(limit) => format!("timeoutMS ({limit:?})"),
                None => "timeoutMS".to_owned(),
            };
        }
        format!("connectTimeoutMS ({:?})", self.connect_timeout)
    }

    /// The time limit, if it has expired, for the error of what was awaited.
    #[cfg(feature = "aws-auth")]
    pub(super) fn expired_limit(self) -> Option<String> {
        let is_expired = self.deadline.remaining().is_some_and(|left| left.is_zero());
        is_expired.then(|| self.limit())
    }

    /// Excludes the time that obtaining a token took, unless it counts for `timeoutMS`.
    pub(super) fn exclude(&mut self, flow: OidcFlow, time: Duration) {
        if flow == OidcFlow::Human || self.operation.remaining().is_none() {
            self.deadline = self.deadline.later(time);
        }
    }
}
