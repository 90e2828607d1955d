//! The loop of the Client Backpressure specification, try by try.

use proptest::prelude::*;

use super::*;
use crate::{
    NetworkPhase, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR, SYSTEM_OVERLOADED_ERROR, ServerSelectionError,
    error::{CommandError, SelectionEnd},
};

const ALLOWED: RetryOptions = RetryOptions {
    reads: true,
    writes: true,
    max_adaptive_retries: 2,
};

fn command(code: i32, labels: &[&str]) -> Error {
    Error::new(ErrorKind::Command(CommandError {
        code,
        ..CommandError::default()
    }))
    .with_labels(labels.iter().map(|label| (*label).to_owned()))
}

fn overload(code: i32) -> Error {
    command(code, &[SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR])
}

fn nowhere() -> Error {
    Error::new(ErrorKind::ServerSelection(ServerSelectionError {
        wanted: String::new(),
        timeout: Duration::ZERO,
        topology: String::new(),
        cause: None,
        summary: String::new(),
        end: SelectionEnd::TimedOut,
    }))
}

/// The pauses in milliseconds (`None`: at once), and the code of the error that is reported.
fn run(mut retry_policy: RetryPolicy, errors: Vec<Error>) -> (Vec<Option<u128>>, Option<Error>) {
    let mut pauses = Vec::new();
    for error in errors {
        match retry_policy.next(error, 0.5) {
            Next::Again { pause } => pauses.push(pause.map(|pause| pause.as_millis())),
            Next::Report(error) => return (pauses, Some(error)),
        }
    }
    (pauses, None)
}

fn code(outcome: (Vec<Option<u128>>, Option<Error>)) -> (Vec<Option<u128>>, i32) {
    (outcome.0, outcome.1.unwrap().code().unwrap())
}

#[test]
fn an_election_is_worth_one_more_try_of_a_repeatable_operation() {
    let read = |repeatable| RetryPolicy::new(ALLOWED, Intent::Read, repeatable);
    let errors = || vec![command(91, &[]), command(10107, &[])];
    assert_eq!(code(run(read(true), errors())), (vec![None], 10107));
    assert_eq!(code(run(read(false), errors())), (vec![], 91));
    let write = RetryPolicy::new(ALLOWED, Intent::Write, true);
    let errors = vec![
        command(91, &[RETRYABLE_WRITE_ERROR]),
        command(189, &[RETRYABLE_WRITE_ERROR]),
    ];
    assert_eq!(code(run(write, errors)), (vec![None], 189));
}

#[test]
fn overload_is_worth_two_more_tries_of_anything() {
    for intent in [Intent::Read, Intent::Write, Intent::Any] {
        let retry_policy = RetryPolicy::new(ALLOWED, intent, false);
        let errors = vec![overload(1), overload(2), overload(3)];
        assert_eq!(code(run(retry_policy, errors)), (vec![Some(100), Some(200)], 3));
    }
}

#[test]
fn one_label_alone_is_not_enough() {
    for label in [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR] {
        let retry_policy = RetryPolicy::new(ALLOWED, Intent::Write, true);
        assert_eq!(code(run(retry_policy, vec![command(1, &[label])])), (vec![], 1));
    }
}

#[test]
fn the_budget_of_overload_holds_for_later_errors() {
    let read = || RetryPolicy::new(ALLOWED, Intent::Read, true);
    let errors = vec![overload(1), command(91, &[]), command(91, &[])];
    assert_eq!(code(run(read(), errors)), (vec![Some(100), None], 91));
    // A plain retry counts: the first pause is already the second one.
    let errors = vec![command(91, &[]), overload(1), overload(2)];
    assert_eq!(code(run(read(), errors)), (vec![None, Some(200)], 2));
}

#[test]
fn each_kind_needs_its_own_permission() {
    let with = |reads, writes| RetryOptions {
        reads,
        writes,
        max_adaptive_retries: 2,
    };
    let tries = |options, intent| {
        run(RetryPolicy::new(options, intent, true), vec![overload(1)])
            .0
            .len()
    };
    assert_eq!(tries(with(false, true), Intent::Read), 0);
    assert_eq!(tries(with(true, false), Intent::Read), 1);
    assert_eq!(tries(with(true, false), Intent::Write), 0);
    assert_eq!(tries(with(false, true), Intent::Write), 1);
    assert_eq!(tries(with(false, true), Intent::Any), 0);
    assert_eq!(tries(with(true, false), Intent::Any), 0);
    assert_eq!(tries(with(true, true), Intent::Any), 1);
}

#[test]
fn zero_adaptive_retries_end_at_the_first_overload() {
    let options = RetryOptions {
        max_adaptive_retries: 0,
        ..ALLOWED
    };
    let retry_policy = RetryPolicy::new(options, Intent::Read, true);
    assert_eq!(code(run(retry_policy, vec![overload(1)])), (vec![], 1));
}

#[test]
fn the_most_informative_error_is_reported() {
    let label = RETRYABLE_WRITE_ERROR;
    let nothing = |code| command(code, &[label, NO_WRITES_PERFORMED]);
    let something = |code| command(code, &[label]);
    let write = || RetryPolicy::new(ALLOWED, Intent::Write, true);
    let reported = |errors| code(run(write(), errors)).1;
    assert_eq!(reported(vec![something(1), something(2)]), 2);
    assert_eq!(reported(vec![nothing(1), nothing(2)]), 1);
    assert_eq!(reported(vec![nothing(1), something(2)]), 2);
    assert_eq!(reported(vec![something(1), nothing(2)]), 1);
    assert_eq!(reported(vec![something(1), nowhere()]), 1);
}

fn network(phase: NetworkPhase) -> Error {
    Error::network(phase, std::io::ErrorKind::BrokenPipe.into())
}

/// Failures of which each shows that its try sent nothing.
fn not_sent() -> [Error; 9] {
    let address = crate::ServerAddress::tcp("a", 1);
    [
        nowhere(),
        network(NetworkPhase::Connect),
        network(NetworkPhase::Handshake),
        network(NetworkPhase::Authentication),
        Error::new(ErrorKind::Pool(crate::error::PoolError::Closed { address })),
        Error::new(ErrorKind::Shutdown),
        Error::unsupported("retryable writes on this server"),
        Error::invalid_argument("the session has ended"),
        crate::bson::from_slice::<i32>(&[1])
            .map_err(|_| Error::dns("no record"))
            .unwrap_err(),
    ]
}

#[test]
fn a_retry_that_sent_nothing_does_not_hide_the_first_error() {
    for intent in [Intent::Read, Intent::Write] {
        for second in not_sent() {
            let first = network(NetworkPhase::Read).with_labels([RETRYABLE_WRITE_ERROR.to_owned()]);
            let retry_policy = RetryPolicy::new(ALLOWED, intent, true);
            let (pauses, reported) = run(retry_policy, vec![first, second.clone()]);
            let reported = reported.unwrap();
            assert_eq!(pauses.len(), 1);
            let is_first = matches!(reported.kind(), ErrorKind::Network(network) if network.phase() == NetworkPhase::Read);
            assert!(
                is_first,
                "{intent:?}: {reported} instead of the first, for {second}"
            );
        }
    }
}

proptest! {
    /// Failures that lead to a retry, some of which were sent, and one that does not, in any order
    /// that can occur.
    #[test]
    fn the_error_of_a_try_that_was_sent_is_reported_if_there_was_one(
        intent in prop::sample::select(vec![Intent::Read, Intent::Write, Intent::Any]),
        sent in prop::collection::vec(any::<bool>(), 1..6),
        last in prop::sample::select((0..9_usize).collect::<Vec<_>>()),
        ends_unsent in any::<bool>(),
    ) {
        // Any operation is retried after overload. The error code is the number of the attempt.
        let labels = [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR];
        let mut errors: Vec<Error> = sent
            .iter()
            .zip(1..)
            .map(|(sent, code)| {
                if *sent {
                    command(code, &labels)
                } else {
                    network(NetworkPhase::Connect).with_labels(labels.map(str::to_owned))
                }
            })
            .collect();
        if ends_unsent {
            errors.push(not_sent()[last].clone());
        }
        let options = RetryOptions { max_adaptive_retries: 10, ..ALLOWED };
        let mut retry_policy = RetryPolicy::new(options, intent, true);
        let mut reported = None;
        for error in errors {
            match retry_policy.next(error, 0.5) {
                Next::Again { .. } => {}
                Next::Report(error) => reported = Some(error),
            }
        }
        let latest = sent.iter().rposition(|sent| *sent).map(|place| place as i32 + 1);
        if let (Some(reported), Some(latest)) = (reported, latest) {
            prop_assert_eq!(reported.code(), Some(latest));
        }
    }
}

/// "If an error would not allow the caller to infer that an attempt was made …, the previous error should be raised."
#[test]
fn an_encryption_that_failed_does_not_replace_the_error_of_an_attempt_that_was_sent() {
    let network = || {
        let error = Error::network(NetworkPhase::Read, std::io::ErrorKind::ConnectionReset.into());
        error.with_labels([RETRYABLE_WRITE_ERROR.to_owned()])
    };
    let vault = || Error::from(EncryptionError::KeyVault(network()));
    let write = || RetryPolicy::new(ALLOWED, Intent::Write, true);
    let (pauses, reported) = run(write(), vec![network(), vault()]);
    assert_eq!(pauses, [None]);
    assert!(reported.is_some_and(|error| matches!(error.kind(), ErrorKind::Network(_))));
    // It is not retried, although its cause is.
    let (pauses, reported) = run(write(), vec![vault()]);
    assert!(pauses.is_empty() && reported.is_some_and(|error| error.is_encryption()));
    // The command was performed.
    let unreadable = Error::from(EncryptionError::Reply(network()));
    let (_, reported) = run(write(), vec![network(), unreadable]);
    assert!(reported.is_some_and(|error| error.is_encryption()));
}
