//! The loop of the Client Backpressure specification, try by try.

use super::*;
use crate::{
    NetworkPhase, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR, SYSTEM_OVERLOADED_ERROR, ServerSelectionError,
    error::CommandError,
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
    }))
}

/// The pauses in milliseconds (`None`: at once), and the code of the error that is reported.
fn run(mut retries: Retries, errors: Vec<Error>) -> (Vec<Option<u128>>, Option<Error>) {
    let mut pauses = Vec::new();
    for error in errors {
        match retries.next(error, 0.5) {
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
    let read = |repeatable| Retries::new(ALLOWED, Intent::Read, repeatable);
    let errors = || vec![command(91, &[]), command(10107, &[])];
    assert_eq!(code(run(read(true), errors())), (vec![None], 10107));
    assert_eq!(code(run(read(false), errors())), (vec![], 91));
    let write = Retries::new(ALLOWED, Intent::Write, true);
    let errors = vec![
        command(91, &[RETRYABLE_WRITE_ERROR]),
        command(189, &[RETRYABLE_WRITE_ERROR]),
    ];
    assert_eq!(code(run(write, errors)), (vec![None], 189));
}

#[test]
fn overload_is_worth_two_more_tries_of_anything() {
    for intent in [Intent::Read, Intent::Write, Intent::Any] {
        let retries = Retries::new(ALLOWED, intent, false);
        let errors = vec![overload(1), overload(2), overload(3)];
        assert_eq!(code(run(retries, errors)), (vec![Some(100), Some(200)], 3));
    }
}

#[test]
fn one_label_alone_is_not_enough() {
    for label in [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR] {
        let retries = Retries::new(ALLOWED, Intent::Write, true);
        assert_eq!(code(run(retries, vec![command(1, &[label])])), (vec![], 1));
    }
}

#[test]
fn the_budget_of_overload_holds_for_later_errors() {
    let read = || Retries::new(ALLOWED, Intent::Read, true);
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
        run(Retries::new(options, intent, true), vec![overload(1)])
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
    let retries = Retries::new(options, Intent::Read, true);
    assert_eq!(code(run(retries, vec![overload(1)])), (vec![], 1));
}

#[test]
fn the_error_that_tells_most_is_reported() {
    let label = RETRYABLE_WRITE_ERROR;
    let nothing = |code| command(code, &[label, NO_WRITES_PERFORMED]);
    let something = |code| command(code, &[label]);
    let write = || Retries::new(ALLOWED, Intent::Write, true);
    let reported = |errors| code(run(write(), errors)).1;
    assert_eq!(reported(vec![something(1), something(2)]), 2);
    assert_eq!(reported(vec![nothing(1), nothing(2)]), 1);
    assert_eq!(reported(vec![nothing(1), something(2)]), 2);
    assert_eq!(reported(vec![something(1), nothing(2)]), 1);
    assert_eq!(reported(vec![something(1), nowhere()]), 1);
    let lost = Error::network(NetworkPhase::Read, std::io::ErrorKind::BrokenPipe.into());
    let read = Retries::new(ALLOWED, Intent::Read, true);
    assert!(run(read, vec![lost, nowhere()]).1.unwrap().is_network());
}
