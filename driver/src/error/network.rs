//! A socket that could not be opened or that failed.

use std::{fmt, io, sync::Arc};

/// What the driver was doing with the socket.
///
/// Up to and including [`Authentication`](Self::Authentication) a connection was being established, which `connectTimeoutMS`
/// limits: the kind is [`TimedOut`](io::ErrorKind::TimedOut) when that time is over. None of the application's commands had
/// been sent on it. A peer that closes the socket shows up as [`UnexpectedEof`](io::ErrorKind::UnexpectedEof), one that
/// resets it as [`ConnectionReset`](io::ErrorKind::ConnectionReset), in whatever phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkPhase {
    /// Resolving the host name of a server or proxy. The kind is [`NotFound`](io::ErrorKind::NotFound) when there is no such
    /// name, else the name servers could not tell.
    Resolve,
    /// Opening the socket: refused, no route, or no answer. A host with several addresses has
    /// failed on all of them, and the text lists each.
    Connect,
    /// Connecting to the SOCKS5 proxy, and through it. The text tells which; the kind is that of the proxy's socket, or else
    /// what the proxy answered: [`PermissionDenied`](io::ErrorKind::PermissionDenied) for a login or a request that it
    /// refused, [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) and the unreachable kinds for what it met on the
    /// way to the server, [`InvalidData`](io::ErrorKind::InvalidData) for bytes that are no SOCKS5.
    Proxy,
    /// Agreeing on encryption. The kind is [`InvalidData`](io::ErrorKind::InvalidData) when one side refused: a certificate
    /// that is not trusted, expired or for another name, no common version, bytes that are no TLS. Any other kind is a
    /// failure of the socket.
    TlsHandshake,
    /// Exchanging the handshake.
    Handshake,
    /// Logging in, after the handshake.
    Authentication,
    /// Sending a command.
    Write,
    /// Waiting for or reading a reply.
    Read,
}

/// A failed socket. Its text holds that of the operating system's error, [`io_error`](Self::io_error).
#[derive(Clone, Debug)]
pub struct NetworkError {
    phase: NetworkPhase,
    source: Arc<io::Error>,
    /// What may have to be changed.
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

    /// The same with what may have to be changed, which follows the text.
    pub(super) fn with_hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }

    /// What the driver was doing.
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

    /// Whether a time limit of the driver ended it. The operating system's ETIMEDOUT is none: it means that keepalive or
    /// retransmission found the peer dead.
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

    /// The server cannot have seen the command.
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

    /// While a connection is established: whether an overloaded server may be behind the failure. It drops sockets; it
    /// neither changes host names nor certificates, and once it has greeted it is not overloaded. What a proxy does is the
    /// proxy's. What TLS refuses shows up during the first exchange too, where a client certificate is refused.
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
            NetworkPhase::Authentication => "the connection failed during the login",
            NetworkPhase::Write => "the connection failed while a command was sent",
            NetworkPhase::Read => "the connection failed while a reply was awaited",
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
        // The text of the operating system's error is part of this error's own.
        self.source.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind::{ConnectionReset, InvalidData, TimedOut, UnexpectedEof};

    #[test]
    fn only_sockets_fail_from_overload() {
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
