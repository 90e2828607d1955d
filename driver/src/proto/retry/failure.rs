//! Which errors are retryable ([Retryable Reads], [Retryable Writes]).
//!
//! [Retryable Reads]:
//! https://github.com/mongodb/specifications/blob/master/source/retryable-reads/retryable-reads.md
//! [Retryable Writes]:
//! https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md

use crate::{
    Error, ErrorKind,
    error::{CommandError, PoolError, RETRYABLE_WRITE_ERROR, code},
};

/// The command was not sent, and another attempt may succeed: the pool was cleared, or closed because the
/// server has left the deployment, or authentication failed with a retryable code.
fn is_before_command(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Pool(PoolError::Cleared { .. } | PoolError::Closed { .. }) => true,
        ErrorKind::Authentication(e) => e
            .refusal()
            .is_some_and(|refusal| code::is_retryable_write(refusal.code)),
        _ => false,
    }
}

/// Whether a read may be retried after the error.
pub(super) fn is_retryable_read(error: &Error) -> bool {
    error.is_network()
        || is_before_command(error)
        || matches!(error.kind(), ErrorKind::Command(e) if code::is_retryable_read(e.code))
}

/// Whether a write with a transaction number may be retried after the error.
pub(super) fn is_retryable_write(error: &Error) -> bool {
    error.contains_label(RETRYABLE_WRITE_ERROR)
}

/// Adds the label `RetryableWriteError` to errors that the driver must label: network errors, and
/// errors before the command was sent.
pub fn label_write_failure(error: Error) -> Error {
    if error.is_network() || is_before_command(&error) {
        return error.with_labels([RETRYABLE_WRITE_ERROR.to_owned()]);
    }
    error
}

/// As [`label_write_failure`], for an error of a check-out: also that of a handshake which the server
/// refused with a retryable code.
pub fn label_check_out_failure(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Command(refusal) if code::is_retryable_write(refusal.code) => {
            error.with_labels([RETRYABLE_WRITE_ERROR.to_owned()])
        }
        _ => label_write_failure(error),
    }
}

/// Replaces the message of a server whose storage engine does not support retryable writes by that
/// of the specification ("Handling … IllegalOperation").
pub fn explain_refused_number(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Command(refusal)
            if refusal.code == code::ILLEGAL_OPERATION
                && refusal.message.starts_with("Transaction numbers") =>
        {
            let refusal = CommandError {
                message: "This MongoDB deployment does not support retryable writes. Please add retryWrites=false to \
                          your connection string."
                    .to_owned(),
                ..refusal.clone()
            };
            error.with_kind(ErrorKind::Command(refusal))
        }
        _ => error,
    }
}

/// The error codes of a reply.
#[derive(Clone, Copy, Debug)]
pub struct ReplyCodes {
    /// `code` of the reply.
    pub command: Option<i32>,
    /// `writeConcernError.code`.
    pub write_concern: Option<i32>,
}

/// Adds the label `RetryableWriteError` to an error of a server before 4.4. Newer servers add it.
/// The write concern error of a mongos does not count: the mongos has retried.
pub fn label_unlabeled(error: Error, codes: ReplyCodes, mongos: bool) -> Error {
    let retryable = |code: Option<i32>| code.is_some_and(code::is_retryable_write);
    let counts = retryable(codes.command) || (!mongos && retryable(codes.write_concern));
    if counts {
        return error.with_labels([RETRYABLE_WRITE_ERROR.to_owned()]);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{AuthenticationError, AuthenticationFailure, NetworkPhase};

    fn command(code: i32) -> Error {
        Error::new(ErrorKind::Command(CommandError {
            code,
            ..CommandError::default()
        }))
    }

    #[test]
    fn a_login_may_be_tried_again_where_a_command_may() {
        let login = |code| {
            let refusal = CommandError {
                code,
                ..CommandError::default()
            };
            Error::from(AuthenticationError::new(
                "SCRAM-SHA-256",
                AuthenticationFailure::Refused(refusal),
            ))
        };
        assert!(is_retryable_read(&login(91)) && !is_retryable_read(&login(18)));
        assert!(is_retryable_write(&label_write_failure(login(91))));
        assert!(!is_retryable_write(&label_write_failure(login(18))));
        assert!(is_retryable_write(&label_check_out_failure(login(91))));
    }

    #[test]
    fn a_handshake_that_was_refused_may_be_tried_again_where_a_command_may() {
        assert!(is_retryable_write(&label_check_out_failure(command(91))));
        assert!(!is_retryable_write(&label_check_out_failure(command(322))));
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
    fn errors_of_old_servers_are_labeled_by_their_codes() {
        let labeled = |command, write_concern, mongos| {
            let codes = ReplyCodes {
                command,
                write_concern,
            };
            is_retryable_write(&label_unlabeled(super::tests::command(1), codes, mongos))
        };
        assert!(labeled(Some(91), None, false) && labeled(Some(91), None, true));
        assert!(labeled(None, Some(91), false));
        assert!(!labeled(None, Some(91), true), "a mongos has retried");
        assert!(!labeled(Some(134), Some(11000), false), "not for writes");
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
