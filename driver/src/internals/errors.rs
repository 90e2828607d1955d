//! Errors as the driver creates them for failures of a socket.

use std::io;

use crate::{Error, ErrorKind, NetworkPhase, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR};

/// The connection was closed by the peer while a reply was read.
pub fn lost_connection() -> Error {
    Error::network(NetworkPhase::Read, io::ErrorKind::ConnectionReset.into())
}

/// The time limit for a reply expired.
pub fn slow_reply() -> Error {
    Error::network(NetworkPhase::Read, io::ErrorKind::TimedOut.into())
}

/// An error as the pool reports it if it occurs while a connection is established.
pub fn while_establishing(error: Error) -> Error {
    if error.is_network() {
        error.with_labels([SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR].map(str::to_owned))
    } else {
        error
    }
}

/// An error without address, labels and server response.
pub fn of_kind(kind: ErrorKind) -> Error {
    Error::new(kind)
}
