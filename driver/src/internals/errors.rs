//! Errors as sockets cause them.

use std::io;

use crate::{Error, NetworkPhase};

/// A socket that failed while a reply was read.
pub fn lost_connection() -> Error {
    Error::network(NetworkPhase::Read, io::ErrorKind::ConnectionReset.into())
}

/// A reply that took too long.
pub fn slow_reply() -> Error {
    Error::network(NetworkPhase::Read, io::ErrorKind::TimedOut.into())
}

/// A socket that could not be opened, with the labels that a pool gives to such a failure.
pub fn refused_connection() -> Error {
    Error::network(NetworkPhase::Connect, io::ErrorKind::ConnectionRefused.into())
}
