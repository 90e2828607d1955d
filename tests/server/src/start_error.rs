//! The error of a server that does not start.

use std::{error, fmt, io};

/// The error of [`TestServerBuilder::start`](crate::TestServerBuilder::start).
///
/// Converts to [`io::Error`]: [`Io`](Self::Io) to the error that it holds, all others to
/// [`io::ErrorKind::InvalidInput`].
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The version is not of the form `major.minor.patch`, where `.patch` or `.minor.patch` may be
    /// omitted, or is outside 4.2 to 9.
    #[non_exhaustive]
    UnsupportedVersion {
        /// The version as given.
        version: String,
    },
    /// The compressor is none of `snappy`, `zlib` and `zstd`.
    #[non_exhaustive]
    UnknownCompressor {
        /// The compressor as given.
        name: String,
    },
    /// `getParameter` has no such parameter for this deployment at this version.
    #[non_exhaustive]
    UnknownParameter {
        /// The name of the server parameter.
        name: String,
    },
    /// The value of a server parameter is not of the type of its default.
    #[non_exhaustive]
    InvalidParameterType {
        /// The name of the server parameter.
        name: String,
        /// The type of the default, as `$type` spells it.
        expected: &'static str,
    },
    /// Advertised hosts require a replica set and one `host:port` for each member.
    #[non_exhaustive]
    AdvertisedHosts {
        /// The number of replica set members; 0 for other deployments.
        members: usize,
        /// The number of hosts given.
        hosts: usize,
    },
    /// An advertised host is not of the form `host:port`.
    #[non_exhaustive]
    InvalidAdvertisedHost {
        /// The host as given.
        host: String,
    },
    /// The name of the replica set is empty.
    EmptyReplicaSetName,
    /// The user name is empty, or SASLprep (RFC 4013) prohibits the password.
    #[non_exhaustive]
    InvalidCredentials {
        /// The user name.
        user: String,
    },
    /// The certificates or the private key cannot be used.
    #[non_exhaustive]
    InvalidTls {
        /// What is wrong.
        reason: String,
    },
    /// The deployment needs more consecutive ports than there are from the first one to 65535.
    #[non_exhaustive]
    PortRange {
        /// The first port.
        first: u16,
        /// The number of ports that the deployment needs.
        count: u16,
    },
    /// The runtime could not be created, or a port or the path of the Unix domain socket could not
    /// be bound. The message contains the address or the path.
    Io(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::UnsupportedVersion { version } => write!(
                f,
                "server version {version:?} is not supported: expected a version from 4.2 to 9, for example \"8.2.0\" or \"8.2\""
            ),
            StartError::UnknownCompressor { name } => {
                write!(
                    f,
                    "unknown compressor {name:?}: expected \"snappy\", \"zlib\" or \"zstd\""
                )
            }
            StartError::UnknownParameter { name } => write!(f, "unknown server parameter {name:?}"),
            StartError::InvalidParameterType { name, expected } => {
                write!(f, "server parameter {name:?} requires a value of type {expected}")
            }
            StartError::AdvertisedHosts { members: 0, .. } => {
                write!(f, "advertised hosts require a replica set")
            }
            StartError::AdvertisedHosts { members, hosts } => {
                write!(
                    f,
                    "advertised hosts require one host for each of the {members} members, found {hosts}"
                )
            }
            StartError::InvalidAdvertisedHost { host } => {
                write!(f, "invalid advertised host {host:?}: expected `host:port`")
            }
            StartError::EmptyReplicaSetName => write!(f, "the name of the replica set is empty"),
            StartError::InvalidCredentials { user } => write!(
                f,
                "invalid credentials for user {user:?}: the name must not be empty, and SASLprep must allow the password"
            ),
            StartError::InvalidTls { reason } => write!(f, "invalid TLS configuration: {reason}"),
            StartError::PortRange { first, count } => {
                write!(
                    f,
                    "the deployment needs {count} consecutive ports, but port {first} leaves fewer"
                )
            }
            StartError::Io(error) => error.fmt(f),
        }
    }
}

impl error::Error for StartError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            // The message is that of the error itself.
            StartError::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        StartError::Io(error)
    }
}

impl From<StartError> for io::Error {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidInput, other),
        }
    }
}
