//! Why a proxy leads nowhere.

use std::{fmt, io};

/// A negotiation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Socks5Error {
    /// The host name cannot be put into a request.
    HostName,
    /// The proxy speaks another version, or something else.
    Version(u8),
    /// The proxy accepts none of the methods offered.
    NoMethod {
        /// Whether user name and password were among them.
        login_offered: bool,
    },
    /// The proxy chose a method that was not offered.
    UnofferedMethod(u8),
    /// The proxy knows no such user, or not with this password.
    LoginRefused,
    /// The proxy did not open the connection, for the reason with this code.
    Refused(u8),
    /// The proxy's reply holds an address of no known type.
    AddressType(u8),
}

impl Socks5Error {
    /// How a socket of this machine would have failed. Neither is ever a timeout of the client.
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
                "the proxy does not speak SOCKS5: its answer begins with byte {version}"
            ),
            Self::NoMethod { login_offered: true } => {
                f.write_str("the proxy accepts neither user name and password nor going without")
            }
            Self::NoMethod { login_offered: false } => {
                f.write_str("the proxy wants a login: proxyUsername and proxyPassword are not set")
            }
            Self::UnofferedMethod(method) => {
                write!(
                    f,
                    "the proxy chose the login method {method}, which was not offered"
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
            Self::AddressType(kind) => write!(f, "the proxy's reply holds an address of unknown type {kind}"),
        }
    }
}

impl std::error::Error for Socks5Error {}

impl From<Socks5Error> for io::Error {
    fn from(error: Socks5Error) -> Self {
        Self::new(error.io_kind(), error)
    }
}
