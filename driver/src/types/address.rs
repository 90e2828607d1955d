//! Addresses of servers.

use std::{fmt, path::PathBuf, str::FromStr};

/// The default port of MongoDB servers.
pub(crate) const DEFAULT_PORT: u16 = 27017;

/// The address of a `mongod` or `mongos`: a host and port, or the path of a Unix domain socket.
///
/// Host names are stored in lower case, as the Server Discovery and Monitoring specification
/// requires. An address is parsed from `host`, `host:port`, `[IPv6]`, `[IPv6]:port`, or the path of
/// a socket: a text that contains `/` and ends in `.sock`. The default port is 27017.
///
/// ```
/// use marula_driver::ServerAddress;
/// let address: ServerAddress = "DB1.example.com".parse()?;
/// assert_eq!(address.to_string(), "db1.example.com:27017");
/// # Ok::<(), marula_driver::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ServerAddress {
    /// A TCP endpoint.
    Tcp {
        /// Host name, IPv4 address, or IPv6 address without brackets; lower case.
        host: String,
        /// The port, from 1 to 65535.
        port: u16,
    },
    /// A Unix domain socket, on platforms that support them. TLS and proxies do not apply:
    /// `tls=true` with a socket is rejected when a client is created, and no proxy is used.
    Unix {
        /// Path of the socket, ending in `.sock`.
        path: PathBuf,
    },
}

/// The error of parsing a [`ServerAddress`]. The message contains the text and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(pub(crate) String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AddressError {}

/// The reason why a text is not a valid address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressProblem {
    Empty,
    UnclosedBracket,
    NotIpv6,
    AfterBracket,
    Colons,
    EmptyHost,
    Slash,
    PortRange,
    PortNumber,
    /// A blank or a control character, such as a line break.
    Character(char),
}

impl fmt::Display for AddressProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::UnclosedBracket => f.write_str("'[' without ']'"),
            Self::NotIpv6 => f.write_str("the part in brackets is not an IPv6 address"),
            Self::AfterBracket => f.write_str("only a port may follow ']'"),
            Self::Colons => f.write_str("it has more than one ':'; put an IPv6 address in brackets"),
            Self::EmptyHost => f.write_str("the host is empty"),
            Self::Slash => f.write_str("a host cannot contain '/'; percent-encode the path of a Unix socket"),
            Self::PortRange => f.write_str("the port must be between 1 and 65535"),
            Self::PortNumber => f.write_str("the port must be a number between 1 and 65535"),
            Self::Character(character) => write!(f, "it contains the character {character:?}"),
        }
    }
}

impl ServerAddress {
    /// A TCP address. The host is converted to lower case.
    #[must_use]
    pub fn tcp(host: &str, port: u16) -> Self {
        Self::Tcp {
            host: host.to_ascii_lowercase(),
            port,
        }
    }

    /// The host name or IP address without the port, or the path of the socket.
    #[must_use]
    pub fn host(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Tcp { host, .. } => host.as_str().into(),
            Self::Unix { path } => path.to_string_lossy(),
        }
    }

    /// The port of a TCP address; `None` for a socket.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp { port, .. } => Some(*port),
            Self::Unix { .. } => None,
        }
    }

    /// Parses `host`, `host:port`, `[IPv6]`, `[IPv6]:port`, or the path of a socket: a text that
    /// contains `/` and ends in `.sock`.
    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        Self::read(text).map_err(|why| AddressError(format!("invalid server address {text:?}: {why}")))
    }

    /// As [`parse`](Self::parse), for parts of a connection string. The error is the reason only,
    /// because the text may include a password.
    pub(crate) fn read(text: &str) -> Result<Self, AddressProblem> {
        if text.is_empty() {
            return Err(AddressProblem::Empty);
        }
        if text.contains('/') && text.ends_with(".sock") {
            return match text.chars().find(|character| character.is_control()) {
                Some(character) => Err(AddressProblem::Character(character)),
                None => Ok(Self::Unix { path: text.into() }),
            };
        }
        let is_invalid = |character: &char| character.is_control() || character.is_whitespace();
        if let Some(character) = text.chars().find(is_invalid) {
            return Err(AddressProblem::Character(character));
        }
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let Some((host, after)) = rest.split_once(']') else {
                return Err(AddressProblem::UnclosedBracket);
            };
            if host.parse::<std::net::Ipv6Addr>().is_err() && !host.contains('%') {
                return Err(AddressProblem::NotIpv6);
            }
            match after.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if after.is_empty() => (host, None),
                None => return Err(AddressProblem::AfterBracket),
            }
        } else {
            match text.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return Err(AddressProblem::Colons);
                }
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        if host.is_empty() {
            return Err(AddressProblem::EmptyHost);
        }
        if host.contains('/') {
            return Err(AddressProblem::Slash);
        }
        let port = match port {
            None => DEFAULT_PORT,
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                match digits.parse::<u16>() {
                    Ok(port) if port > 0 => port,
                    _ => return Err(AddressProblem::PortRange),
                }
            }
            Some(_) => return Err(AddressProblem::PortNumber),
        };
        Ok(Self::tcp(host, port))
    }
}

impl FromStr for ServerAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix { path } => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_addresses_are_parsed() {
        let text = |s: &str| ServerAddress::parse(s).map(|a| a.to_string());
        assert_eq!(text("Localhost").unwrap(), "localhost:27017");
        assert_eq!(text("a.b:1").unwrap(), "a.b:1");
        assert_eq!(text("[::1]").unwrap(), "[::1]:27017");
        assert_eq!(text("[::1]:5").unwrap(), "[::1]:5");
        assert_eq!(text("/tmp/mongodb.sock").unwrap(), "/tmp/mongodb.sock");
        assert_eq!(text("run/mongodb.sock").unwrap(), "run/mongodb.sock");
        assert_eq!(text("mongodb-27017.sock").unwrap(), "mongodb-27017.sock:27017");
        assert_eq!(text("db.sock:1").unwrap(), "db.sock:1");
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        for bad in [
            "", ":1", "a:", "a:0", "a:65536", "a:x", "::1", "[::1", "[zz]", "[::1]x", "a/b", "a:+1",
        ] {
            assert!(ServerAddress::parse(bad).is_err(), "{bad} was accepted");
        }
    }
}
