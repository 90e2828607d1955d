//! Errors as sockets cause them.

use std::io;

use crate::{Error, ErrorKind, NetworkPhase, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR};

/// A socket that failed while a reply was read.
pub fn lost_connection() -> Error {
    Error::network(NetworkPhase::Read, io::ErrorKind::ConnectionReset.into())
}

/// A reply that took too long.
pub fn slow_reply() -> Error {
    Error::network(NetworkPhase::Read, io::ErrorKind::TimedOut.into())
}

/// An error as a pool passes it on that met it while a connection was being established.
pub fn while_establishing(error: Error) -> Error {
    if error.is_network() {
        error.with_labels([SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR].map(str::to_owned))
    } else {
        error
    }
}

/// Any error, without address, labels and reply.
pub fn of_kind(kind: ErrorKind) -> Error {
    Error::new(kind)
}
