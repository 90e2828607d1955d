//! Which failures may be answered by sending the operation again (Retryable Reads and Retryable Writes specifications).

use crate::{
    Error, ErrorKind,
    error::{PoolError, RETRYABLE_WRITE_ERROR},
};

/// Codes after which a read may be sent again.
const RETRYABLE_READ_CODES: [i32; 14] = [
    11600, // InterruptedAtShutdown
    11602, // InterruptedDueToReplStateChange
    10107, // NotWritablePrimary
    13435, // NotPrimaryNoSecondaryOk
    13436, // NotPrimaryOrSecondary
    10058, // LegacyNotPrimary
    189,   // PrimarySteppedDown
    91,    // ShutdownInProgress
    7,     // HostNotFound
    6,     // HostUnreachable
    89,    // NetworkTimeout
    9001,  // SocketException
    134,   // ReadConcernMajorityNotAvailableYet
    262,   // ExceededTimeLimit
];

fn is_before_command(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Pool(PoolError::Cleared { .. }))
}

/// Whether a read that failed like this may be sent once more.
pub(crate) fn is_retryable_read(error: &Error) -> bool {
    error.is_network()
        || is_before_command(error)
        || matches!(error.kind(), ErrorKind::Command(e) if RETRYABLE_READ_CODES.contains(&e.code))
}

/// Whether a write with a transaction number that failed like this may be sent once more.
pub(crate) fn is_retryable_write(error: &Error) -> bool {
    error.contains_label(RETRYABLE_WRITE_ERROR)
}

/// Puts the label on the failures for which the driver must: the server cannot label a socket that broke.
pub(crate) fn label_write_failure(error: Error) -> Error {
    if error.is_network() || is_before_command(&error) {
        return error.with_labels([RETRYABLE_WRITE_ERROR.to_owned()]);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{CommandError, NetworkPhase};

    fn command(code: i32) -> Error {
        Error::new(ErrorKind::Command(CommandError {
            code,
            ..CommandError::default()
        }))
    }

    #[test]
    fn reads_are_retried_after_elections_and_lost_sockets() {
        assert!(is_retryable_read(&command(10107)));
        assert!(is_retryable_read(&Error::network(
            NetworkPhase::Read,
            std::io::ErrorKind::TimedOut.into()
        )));
        assert!(!is_retryable_read(&command(11000)));
    }

    #[test]
    fn writes_are_retried_by_label_only() {
        let network = Error::network(NetworkPhase::Write, std::io::ErrorKind::BrokenPipe.into());
        assert!(is_retryable_write(&label_write_failure(network)));
        assert!(!is_retryable_write(&label_write_failure(command(10107))));
        assert!(is_retryable_write(
            &command(10107).with_labels([RETRYABLE_WRITE_ERROR.to_owned()])
        ));
    }
}
