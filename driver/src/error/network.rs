//! Errors of connections.

use std::{fmt, io, sync::Arc};

/// What the driver was doing when a connection failed.
///
/// Up to and including [`Authentication`](Self::Authentication) the connection was being
/// established, and no command of the application had been sent on it. `connectTimeoutMS` limits
/// these phases; the kind is [`TimedOut`](io::ErrorKind::TimedOut) if it expires. In all phases the
/// kind is [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the peer closes the connection, and
/// [`ConnectionReset`](io::ErrorKind::ConnectionReset) if it resets the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkPhase {
    /// Resolving the host name of a server or proxy. The kind is
    /// [`NotFound`](io::ErrorKind::NotFound) if the name does not exist. Any other kind means that
    /// the name servers did not give an answer.
    Resolve,
    /// Opening the TCP connection or Unix domain socket. For a host with several addresses, all of
    /// them failed, and the text lists each.
    Connect,
    /// Connecting to the SOCKS5 proxy, or through it to the server; the text names which. The kind
    /// is that of the error of the proxy's socket, or else follows the reply of the proxy:
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) if it rejected the credentials or the
    /// request, [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) or one of the unreachable
    /// kinds if it could not reach the server, [`InvalidData`](io::ErrorKind::InvalidData) if the
    /// reply is not SOCKS5.
    Proxy,
    /// Performing the TLS handshake. The kind is [`InvalidData`](io::ErrorKind::InvalidData) if one
    /// side rejected the other: the certificate is not trusted, expired or for another name, both
    /// sides have no protocol version in common, or the reply is not TLS. Any other kind is an
    /// error of the socket.
    TlsHandshake,
    /// Sending the `hello` of the handshake or reading its reply.
    Handshake,
    /// Authenticating, after the handshake.
    Authentication,
    /// Sending a command.
    Write,
    /// Waiting for or reading a reply.
    Read,
}

/// A connection failed. The text of the error contains that of the operating system's error,
/// [`io_error`](Self::io_error).
#[derive(Clone, Debug)]
pub struct NetworkError {
    phase: NetworkPhase,
    source: Arc<io::Error>,
    /// Which setting may have to be changed.
    hint: Option<&'static str>,
}

impl NetworkError {
    pub(super) fn new(phase: NetworkPhase, error: io::Error) -> Self {
        Self {
            phase,
            source: Arc::new(error),
            hint: None,
        }
    }

    /// Adds a hint, which follows the text in parentheses.
    pub(super) fn with_hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }

    /// What the driver was doing when the connection failed.
    #[must_use]
    pub fn phase(&self) -> NetworkPhase {
        self.phase
    }

    /// The kind of the operating system's error.
    #[must_use]
    pub fn io_kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// The operating system's error.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.source
    }

    /// Whether a time limit of the driver expired. `ETIMEDOUT` of the operating system is
    /// different: keepalive or retransmission got no answer from the peer.
    pub(crate) fn is_timeout(&self) -> bool {
        self.source.kind() == io::ErrorKind::TimedOut && self.source.raw_os_error().is_none()
    }

    pub(super) fn outline(&self) -> &'static str {
        match self.phase {
            NetworkPhase::Resolve => "DNS lookup failed",
            NetworkPhase::Connect if self.io_kind() == io::ErrorKind::ConnectionRefused => {
                "connection refused"
            }
            NetworkPhase::Connect => "connect failed",
            NetworkPhase::Proxy => "proxy failed",
            NetworkPhase::TlsHandshake => "TLS handshake failed",
            NetworkPhase::Handshake => "handshake failed",
            NetworkPhase::Authentication => "authentication failed",
            NetworkPhase::Write | NetworkPhase::Read => "connection lost",
        }
    }

    /// Whether the failure happened before a command could have been sent.
    pub(crate) fn is_before_send(&self) -> bool {
        matches!(
            self.phase,
            NetworkPhase::Resolve
                | NetworkPhase::Connect
                | NetworkPhase::Proxy
                | NetworkPhase::TlsHandshake
                | NetworkPhase::Handshake
                | NetworkPhase::Authentication
        )
    }

    /// Whether an overloaded server may have caused the failure while a connection was being
    /// established. An overloaded server closes connections; it does not change host names or
    /// certificates. After the `hello` reply the server is not considered overloaded. Errors of a
    /// proxy do not count. A client certificate can be rejected during the first exchange after the
    /// TLS handshake, which does not count either. (Client Backpressure, connection establishment.)
    pub(crate) fn may_be_overload(&self) -> bool {
        !matches!(
            self.phase,
            NetworkPhase::Resolve | NetworkPhase::Proxy | NetworkPhase::Authentication
        ) && self.source.kind() != io::ErrorKind::InvalidData
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing = match self.phase {
            NetworkPhase::Resolve => "the host name could not be resolved",
            NetworkPhase::Connect => "the connection could not be opened",
            NetworkPhase::Proxy => "the connection could not be opened through the proxy",
            NetworkPhase::TlsHandshake => "the connection could not be encrypted",
            NetworkPhase::Handshake => "the connection failed during the handshake",
            NetworkPhase::Authentication => "the connection failed during authentication",
            NetworkPhase::Write => "the connection failed while a command was sent",
            // The connection may remain in use: the reply is awaited in the background.
            NetworkPhase::Read if self.is_timeout() => "no reply in time",
            NetworkPhase::Read => "the connection failed while waiting for a reply",
        };
        write!(f, "{doing}: {}", self.source)?;
        match self.hint {
            None => Ok(()),
            Some(hint) => write!(f, " ({hint})"),
        }
    }
}

impl std::error::Error for NetworkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text of this error already contains that of the operating system's error.
        self.source.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind::{ConnectionReset, InvalidData, TimedOut, UnexpectedEof};

    #[test]
    fn only_socket_errors_may_be_overload() {
        let may = |phase, kind: io::ErrorKind| NetworkError::new(phase, kind.into()).may_be_overload();
        for kind in [ConnectionReset, TimedOut, UnexpectedEof] {
            assert!(may(NetworkPhase::TlsHandshake, kind));
            assert!(may(NetworkPhase::Handshake, kind));
            assert!(!may(NetworkPhase::Resolve, kind));
            assert!(!may(NetworkPhase::Proxy, kind));
        }
        assert!(!may(NetworkPhase::TlsHandshake, InvalidData));
        assert!(!may(NetworkPhase::Handshake, InvalidData));
    }
}
