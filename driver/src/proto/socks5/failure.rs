//! Errors of the SOCKS5 negotiation.

use std::{fmt, io};

/// The negotiation with the proxy failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Socks5Error {
    /// The host name of the server is empty or too long for a request.
    HostName,
    /// The first byte of a reply is not the version of SOCKS5.
    Version(u8),
    /// The proxy accepts none of the offered authentication methods.
    NoMethod {
        /// Whether the method "username/password" was offered.
        login_offered: bool,
    },
    /// The proxy selected a method that was not offered.
    UnofferedMethod(u8),
    /// The proxy rejected the user name and password (RFC 1929).
    LoginRefused,
    /// The proxy did not connect to the server. The value is the reply code (RFC 1928, section 6).
    Refused(u8),
    /// The reply of the proxy contains an address of unknown type.
    AddressType(u8),
}

impl Socks5Error {
    /// The error kind of a direct connection that failed for the same reason. It is not `TimedOut`,
    /// which is used for time limits of the client.
    pub fn io_kind(self) -> io::ErrorKind {
        match self {
            Self::HostName => io::ErrorKind::InvalidInput,
            Self::Version(_) | Self::UnofferedMethod(_) | Self::AddressType(_) => io::ErrorKind::InvalidData,
            Self::NoMethod { .. } | Self::LoginRefused | Self::Refused(2) => io::ErrorKind::PermissionDenied,
            Self::Refused(3) => io::ErrorKind::NetworkUnreachable,
            Self::Refused(4 | 6) => io::ErrorKind::HostUnreachable,
            Self::Refused(5) => io::ErrorKind::ConnectionRefused,
            Self::Refused(7 | 8) => io::ErrorKind::Unsupported,
            Self::Refused(_) => io::ErrorKind::Other,
        }
    }
}

impl fmt::Display for Socks5Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostName => write!(f, "the server's host name is empty or longer than 255 bytes"),
            Self::Version(version) => write!(
                f,
                "the proxy does not speak SOCKS5: its reply begins with byte {version}"
            ),
            Self::NoMethod { login_offered: true } => f.write_str(
                "the proxy accepts neither user name and password nor connections without authentication",
            ),
            Self::NoMethod { login_offered: false } => {
                f.write_str("the proxy requires authentication: set proxyUsername and proxyPassword")
            }
            Self::UnofferedMethod(method) => {
                write!(
                    f,
                    "the proxy selected the authentication method {method}, which was not offered"
                )
            }
            Self::LoginRefused => f.write_str("the proxy refused proxyUsername and proxyPassword"),
            Self::Refused(code) => {
                let reason = match code {
                    1 => "general failure",
                    2 => "not allowed by its rules",
                    3 => "network unreachable",
                    4 => "host unreachable",
                    5 => "connection refused",
                    6 => "time to live expired",
                    7 => "command not supported",
                    8 => "address type not supported",
                    _ => "unknown reason",
                };
                write!(f, "the proxy could not connect to the server: {reason} ({code})")
            }
            Self::AddressType(kind) => {
                write!(f, "the proxy's reply contains an address of unknown type {kind}")
            }
        }
    }
}

impl std::error::Error for Socks5Error {}

impl From<Socks5Error> for io::Error {
    fn from(error: Socks5Error) -> Self {
        Self::new(error.io_kind(), error)
    }
}
