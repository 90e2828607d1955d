//! When the convenient API runs a transaction or its commit again ([Convenient API for
//! Transactions]).
//!
//! [Convenient API for Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md

use std::time::Duration;

use crate::{Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT, error::code};

const INITIAL_BACKOFF: Duration = Duration::from_millis(5);
const GROWTH: f64 = 1.5;
const MAX_BACKOFF: Duration = Duration::from_millis(500);

/// The attempts of one transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransactionRun {
    /// The number of attempts that have begun.
    attempts: i32,
}

/// What follows a commit that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCommit {
    /// The commit is repeated, if the time limit has not expired.
    CommitAgain,
    /// The transaction is run again.
    RunAgain,
    /// The error is returned.
    Report,
}

impl TransactionRun {
    /// The time limit of the retries without `timeoutMS`.
    pub const TIME_LIMIT: Duration = Duration::from_secs(120);

    /// The pause before the next attempt; none before the first. `jitter` is a random number from 0
    /// to 1, 1 excluded.
    pub fn pause(&self, jitter: f64) -> Option<Duration> {
        if self.attempts == 0 {
            return None;
        }
        let backoff = INITIAL_BACKOFF.as_secs_f64() * GROWTH.powi(self.attempts);
        let limited = backoff.min(MAX_BACKOFF.as_secs_f64());
        Some(Duration::from_secs_f64(limited).mul_f64(jitter))
    }

    /// An attempt begins.
    pub fn begin(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    /// The pause before the commit is repeated after this error. The specification has none. After an authentication error
    /// the next connection waits for a check of the server, but not behind a load balancer.
    pub fn pause_before_commit(error: &Error) -> Duration {
        match error.kind() {
            ErrorKind::Authentication(_) => MAX_BACKOFF,
            _ => Duration::ZERO,
        }
    }

    /// What follows a commit that failed with this error.
    pub fn after_commit(error: &Error) -> AfterCommit {
        let has_expired = error.code() == Some(code::MAX_TIME_MS_EXPIRED)
            || error
                .write_concern_error()
                .is_some_and(|concern| concern.code == code::MAX_TIME_MS_EXPIRED);
        if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) && !has_expired && !is_permanent(error) {
            AfterCommit::CommitAgain
        } else if error.contains_label(TRANSIENT_TRANSACTION_ERROR) {
            AfterCommit::RunAgain
        } else {
            AfterCommit::Report
        }
    }
}

/// Whether another commit would meet the same error before anything is sent.
fn is_permanent(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unsupported(_) | ErrorKind::InvalidArgument(_) | ErrorKind::Shutdown
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{AuthenticationError, AuthenticationFailure, CommandError};

    #[test]
    fn the_pauses_grow_up_to_their_limit() {
        let mut run = TransactionRun::default();
        assert_eq!(run.pause(1.0), None);
        let mut pauses = Vec::new();
        for _ in 0..14 {
            run.begin();
            pauses.extend(run.pause(1.0));
        }
        assert_eq!(pauses[0], Duration::from_micros(7_500));
        let sum: Duration = pauses[..13].iter().sum();
        assert_eq!(sum.as_millis(), 2_282);
        assert_eq!(pauses[13], MAX_BACKOFF);
        assert_eq!(run.pause(0.0), Some(Duration::ZERO));
        let endless = TransactionRun { attempts: i32::MAX };
        assert_eq!(endless.pause(0.5), Some(MAX_BACKOFF / 2));
    }

    #[test]
    fn labels_decide_what_follows_a_commit() {
        let error = |code, labels: &[&str]| {
            let refusal = CommandError {
                code,
                ..CommandError::default()
            };
            Error::new(ErrorKind::Command(refusal))
                .with_labels(labels.iter().map(|label| (*label).to_owned()))
        };
        let (unknown, transient) = (UNKNOWN_TRANSACTION_COMMIT_RESULT, TRANSIENT_TRANSACTION_ERROR);
        for (code, labels, expected) in [
            (91, &[unknown][..], AfterCommit::CommitAgain),
            (91, &[unknown, transient], AfterCommit::CommitAgain),
            (50, &[unknown], AfterCommit::Report),
            (251, &[transient], AfterCommit::RunAgain),
            (50, &[unknown, transient], AfterCommit::RunAgain),
            (51, &[], AfterCommit::Report),
        ] {
            assert_eq!(
                TransactionRun::after_commit(&error(code, labels)),
                expected,
                "{code} {labels:?}"
            );
        }
    }

    #[test]
    fn a_commit_is_not_repeated_after_an_error_that_would_recur() {
        let authentication = AuthenticationError {
            mechanism: "SCRAM-SHA-256",
            username: None,
            source: String::new(),
            failure: AuthenticationFailure::Refused(CommandError::default()),
        };
        for (error, expected) in [
            (Error::unsupported("this server"), AfterCommit::Report),
            (Error::invalid_argument("the options"), AfterCommit::Report),
            (Error::new(ErrorKind::Shutdown), AfterCommit::Report),
            (Error::from(authentication), AfterCommit::CommitAgain),
            (Error::invalid_reply("no ok"), AfterCommit::CommitAgain),
        ] {
            let error = error.with_labels([UNKNOWN_TRANSACTION_COMMIT_RESULT.to_owned()]);
            assert_eq!(TransactionRun::after_commit(&error), expected, "{error}");
        }
    }
}
