//! The states of a transaction, its pins and its labels.

use super::*;
use crate::{
    NetworkPhase, PoolError, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR, ServerSelectionError,
    WriteConcernError, WriteFailure,
    bson::rawdoc,
    error::{CommandError, SelectionEnd},
    types::read_preference::{PRIMARY, PRIMARY_PREFERRED},
};

use TransactionCommand::{Abort, Commit, Operation};

fn started() -> Transaction {
    Transaction::start(7, TransactionOptions::default())
}

/// A transaction whose first command has succeeded, on a mongos.
fn running() -> Transaction {
    let mut transaction = started();
    transaction.pin_to(Pin::Mongos(ServerAddress::tcp("a", 1)));
    transaction.sending(Operation);
    transaction.succeeded(Operation);
    transaction
}

fn command(code: i32, labels: &[&str]) -> Error {
    Error::new(ErrorKind::Command(CommandError {
        code,
        ..CommandError::default()
    }))
    .with_labels(labels.iter().map(|label| (*label).to_owned()))
}

fn overload() -> Error {
    command(462, &[SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR])
}

fn network() -> Error {
    Error::network(NetworkPhase::Read, std::io::ErrorKind::ConnectionReset.into())
}

fn selection() -> Error {
    Error::new(ErrorKind::ServerSelection(ServerSelectionError {
        wanted: "a writable server".to_owned(),
        timeout: Duration::ZERO,
        topology: String::new(),
        cause: None,
        summary: String::new(),
        end: SelectionEnd::TimedOut,
    }))
}

fn concern_failure(code: i32) -> Error {
    Error::new(ErrorKind::Write(WriteFailure {
        write_concern_error: Some(WriteConcernError {
            code,
            ..WriteConcernError::default()
        }),
        ..WriteFailure::default()
    }))
}

#[test]
fn the_states_follow_the_diagram() {
    let mut transaction = started();
    assert!(transaction.is_first() && transaction.is_open());
    transaction.sending(Operation);
    assert_eq!(transaction.state(), TransactionState::InProgress);
    transaction.succeeded(Operation);
    assert!(!transaction.is_first());
    assert_eq!(transaction.begin_commit(), Ok(true));
    assert_eq!(transaction.state(), TransactionState::Committed);
    assert_eq!(transaction.begin_abort(), Err(TransactionError::AbortAfterCommit));
    assert_eq!(transaction.begin_commit(), Ok(true), "it is sent again");

    let mut transaction = running();
    assert_eq!(transaction.begin_abort(), Ok(true));
    assert_eq!(transaction.begin_abort(), Err(TransactionError::AbortedTwice));
    assert_eq!(
        transaction.begin_commit(),
        Err(TransactionError::CommitAfterAbort)
    );
    assert!(!transaction.is_open());

    for end in [Transaction::begin_commit, Transaction::begin_abort] {
        assert_eq!(end(&mut started()), Ok(false), "nothing is sent");
    }
    let mut empty = started();
    assert_eq!(
        [empty.begin_commit(), empty.begin_commit()],
        [Ok(false), Ok(false)]
    );
}

#[test]
fn the_first_command_is_the_first_again_after_an_overload_error() {
    let mut transaction = started();
    transaction.sending(Operation);
    let _ = transaction.failed(Operation, overload());
    assert_eq!(transaction.state(), TransactionState::Starting);
    assert!(transaction.first_read_concern().is_some());
    assert_eq!(
        transaction.begin_abort(),
        Ok(false),
        "the server does not know it"
    );

    let mut transaction = started();
    transaction.sending(Operation);
    let _ = transaction.failed(Operation, command(11000, &[]));
    assert_eq!(transaction.state(), TransactionState::InProgress);
    let _ = transaction.failed(Operation, overload());
    assert_eq!(transaction.state(), TransactionState::InProgress, "not the first");
    assert_eq!(transaction.first_read_concern(), None);
}

#[test]
fn errors_before_the_first_command_do_not_change_the_state() {
    let mut transaction = started();
    let _ = transaction.failed(Operation, Error::invalid_argument("a key"));
    assert_eq!(transaction.state(), TransactionState::Starting);
    assert!(transaction.transient().is_none());
}

#[test]
fn operations_cannot_have_concerns_and_reads_need_the_primary() {
    let none = OperationOverrides::default();
    let (read, write) = (true, false);
    let transaction = started();
    assert_eq!(transaction.check(none, read), Ok(()));
    let concern = OperationOverrides {
        read_concern: true,
        ..none
    };
    assert_eq!(
        transaction.check(concern, read),
        Err(TransactionError::ReadConcern)
    );
    let concern = OperationOverrides {
        write_concern: true,
        ..none
    };
    assert_eq!(
        transaction.check(concern, write),
        Err(TransactionError::WriteConcern)
    );

    for (preference, own, expected) in [
        (PRIMARY, None, Ok(())),
        (PRIMARY, Some(false), Err(TransactionError::ReadPreference)),
        (PRIMARY_PREFERRED, None, Err(TransactionError::ReadPreference)),
        (PRIMARY_PREFERRED, Some(true), Ok(())),
    ] {
        let options = TransactionOptions::default().read_preference(preference.clone());
        let transaction = Transaction::start(1, options);
        let overrides = OperationOverrides {
            read_preference: own,
            ..none
        };
        assert_eq!(transaction.check(overrides, read), expected);
        assert_eq!(transaction.check(overrides, write), Ok(()));
    }
}

#[test]
fn errors_without_a_reply_are_transient_except_of_a_commit() {
    let pool = |error| Error::new(ErrorKind::Pool(error));
    let address = || ServerAddress::tcp("a", 1);
    let cleared = || {
        pool(PoolError::Cleared {
            address: address(),
            cause: None,
        })
    };
    for (error, is_labeled) in [
        (network(), true),
        (selection(), true),
        (cleared(), true),
        (pool(PoolError::Closed { address: address() }), true),
        (command(11000, &[]), false),
    ] {
        let labeled = running().failed(Operation, error.clone());
        assert_eq!(
            labeled.contains_label(TRANSIENT_TRANSACTION_ERROR),
            is_labeled,
            "{labeled}"
        );
        let mut committed = running();
        let labeled = committed.failed(Commit, error);
        assert!(!labeled.contains_label(TRANSIENT_TRANSACTION_ERROR));
        assert_eq!(
            labeled.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT),
            is_labeled,
            "{labeled}"
        );
    }
}

#[test]
fn the_result_of_a_commit_is_unknown_after_these_errors() {
    for (error, is_unknown) in [
        (command(91, &[RETRYABLE_WRITE_ERROR]), true),
        (command(50, &[]), true),
        (Error::timed_out("before the command was sent"), true),
        (command(51, &[]), false),
        (concern_failure(64), true),
        (concern_failure(50), true),
        (concern_failure(79), false),
        (concern_failure(100), false),
        (Error::invalid_reply("a reply has no valid field \"ok\""), true),
    ] {
        let mut transaction = running();
        let labeled = transaction.failed(Commit, error);
        let found = labeled.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT);
        assert_eq!(found, is_unknown, "{labeled}");
        // A commit that was not sent keeps its mongos.
        assert_eq!(transaction.pin().is_none(), is_unknown && !labeled.is_too_late());
    }
}

#[test]
fn the_session_is_unpinned_as_specified() {
    let after = |command, error| {
        let mut transaction = running();
        let _ = transaction.failed(command, error);
        transaction.pin().is_none()
    };
    assert!(!after(Operation, command(51, &[])));
    assert!(!after(Operation, overload()));
    assert!(after(Commit, network()) && !after(Commit, command(51, &[])) && !after(Commit, overload()));
    assert!(after(Abort, network()) && after(Abort, command(51, &[])) && !after(Abort, overload()));
    let mut transaction = running();
    transaction.succeeded(Commit);
    assert!(transaction.pin().is_some(), "the commit can be repeated");
    transaction.succeeded(Abort);
    assert!(transaction.pin().is_none());
}

#[test]
fn the_session_is_unpinned_by_what_an_operation_returns() {
    for (error, is_unpinned) in [
        (command(24, &[TRANSIENT_TRANSACTION_ERROR]), true),
        (network(), true),
        (command(51, &[]), false),
        (overload(), false),
    ] {
        let mut transaction = running();
        let error = transaction.failed(Operation, error);
        assert!(transaction.pin().is_some() && transaction.transient().is_none());
        transaction.returned(Operation, &error);
        assert!(transaction.operation_error().is_some());
        assert_eq!(transaction.pin().is_none(), is_unpinned, "{error}");
        assert_eq!(transaction.transient().is_some(), is_unpinned, "{error}");
    }
}

#[test]
fn the_result_of_a_repeated_commit_is_that_of_the_first_unless_the_server_states_it() {
    let unknown = |error: Error| {
        let mut transaction = running();
        transaction.sending(Commit);
        let _ = transaction.failed(Commit, network());
        let labeled = transaction.failed(Commit, error);
        labeled.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT)
    };
    let closed = PoolError::Closed {
        address: ServerAddress::tcp("a", 1),
    };
    assert!(unknown(overload()) && unknown(Error::unsupported("retryable writes")));
    assert!(!unknown(command(251, &[])) && !unknown(concern_failure(100)));
    assert!(unknown(Error::new(ErrorKind::Shutdown)) && unknown(Error::new(ErrorKind::Pool(closed))));
    // No commit was sent, and one succeeded.
    let shutdown = || Error::new(ErrorKind::Shutdown);
    let mut unsent = running();
    let _ = unsent.failed(Commit, Error::unsupported("retryable writes"));
    assert!(
        !unsent
            .failed(Commit, shutdown())
            .contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT)
    );
    let mut committed = running();
    committed.sending(Commit);
    committed.succeeded(Commit);
    assert!(
        !committed
            .failed(Commit, shutdown())
            .contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT)
    );
    let first = running().failed(Commit, overload());
    assert!(!first.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT));
}

/// A mongos that refuses or closes a new connection may be overloaded, so the error has the labels.
fn refused_connection() -> Error {
    network().with_labels([SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR].map(str::to_owned))
}

#[test]
fn a_refused_connection_changes_nothing_before_the_retry_of_an_operation() {
    let mut transaction = running();
    let error = transaction.failed(Operation, refused_connection());
    assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR));
    assert!(transaction.pin().is_some(), "retries go to the same mongos");
    assert!(transaction.transient().is_none());
    transaction.returned(Operation, &error);
    assert!(transaction.pin().is_none(), "the retries ended");
}

/// "When to unpin", and "a pinned transaction stays pinned" (Client Backpressure): the pin before the
/// retry of each command.
#[test]
fn the_pin_before_the_retry_depends_on_the_command_and_on_who_replied() {
    /// The failure, and whether the transaction is pinned after it, by command.
    type Row = (&'static str, fn() -> Error, [bool; 3]);
    let cleared = || {
        Error::new(ErrorKind::Pool(PoolError::Closed {
            address: ServerAddress::tcp("a", 1),
        }))
    };
    let too_late = || Error::timed_out("before the command was sent");
    let rows: [Row; 7] = [
        ("an overloaded server", overload, [true, true, true]),
        ("a refused connection", refused_connection, [true, false, false]),
        ("a network error", network, [true, false, false]),
        ("an error of the pool", cleared, [true, false, false]),
        ("no server was found", selection, [true, false, false]),
        (
            "another error of the server",
            || command(11000, &[]),
            [true, true, false],
        ),
        ("it was not sent in time", too_late, [true, true, false]),
    ];
    for (name, error, pinned) in rows {
        for (part, pinned) in [Operation, Commit, Abort].into_iter().zip(pinned) {
            let mut transaction = running();
            transaction.sending(part);
            let _ = transaction.failed(part, error());
            assert_eq!(transaction.pin().is_some(), pinned, "{name}, {part:?}");
        }
    }
}

#[test]
fn a_repeated_commit_has_majority_unless_the_server_was_overloaded() {
    let concern = WriteConcern {
        journal: Some(true),
        ..WriteConcern::nodes(1)
    };
    let transaction = || {
        let options = TransactionOptions::default().write_concern(concern.clone());
        let mut transaction = Transaction::start(1, options);
        transaction.sending(Operation);
        transaction.sending(Commit);
        transaction
    };
    let majority = WriteConcern {
        w: Some(Acknowledgment::Majority),
        w_timeout: Some(REPEATED_COMMIT_TIMEOUT),
        ..concern.clone()
    };
    let mut overloaded = transaction();
    let _ = overloaded.failed(Commit, overload());
    assert_eq!(overloaded.write_concern(Commit), concern);
    let _ = overloaded.failed(Commit, network());
    assert_eq!(overloaded.write_concern(Commit), majority);
    let _ = overloaded.failed(Commit, overload());
    assert_eq!(overloaded.write_concern(Commit), majority);
    let mut succeeded = transaction();
    succeeded.succeeded(Commit);
    assert_eq!(succeeded.write_concern(Commit), majority);
    assert_eq!(succeeded.write_concern(Abort), concern);
    let own_timeout = TransactionOptions::default().write_concern(WriteConcern {
        w_timeout: Some(Duration::from_secs(1)),
        ..WriteConcern::default()
    });
    let mut lost = transaction();
    lost.lost(Commit);
    assert_eq!(lost.write_concern(Commit), majority);
    let _ = lost.failed(Commit, overload());
    assert_eq!(lost.write_concern(Commit), majority);
    let mut timed = Transaction::start(1, own_timeout);
    timed.succeeded(Commit);
    assert_eq!(
        timed.write_concern(Commit).w_timeout,
        Some(Duration::from_secs(1))
    );
}

#[test]
fn a_dropped_operation_makes_the_transaction_unusable_but_for_an_abort() {
    let mut transaction = running();
    transaction.sending(Operation);
    transaction.lost(Operation);
    let none = OperationOverrides::default();
    assert_eq!(transaction.check(none, false), Err(TransactionError::Lost));
    assert_eq!(transaction.begin_commit(), Err(TransactionError::Lost));
    assert!(transaction.is_open(), "the state does not change");
    let error = transaction.refuse(TransactionError::Lost);
    assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR));
    assert!(transaction.transient().is_some());
    assert_eq!(transaction.begin_abort(), Ok(true));
}

#[test]
fn a_broken_connection_makes_the_transaction_unusable_but_for_an_abort() {
    let mut transaction = running();
    transaction.pin_to(Pin::Connection);
    transaction.connection_broke();
    assert!(transaction.pin().is_none());
    let refused = TransactionError::BrokenConnection;
    let none = OperationOverrides::default();
    assert_eq!(transaction.check(none, false), Err(refused));
    assert_eq!(transaction.begin_commit(), Err(refused));
    let error = transaction.refuse(refused);
    assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR));
    assert_eq!(transaction.begin_abort(), Ok(true));
    // A commit can be repeated on another connection.
    let mut committed = running();
    assert_eq!(committed.begin_commit(), Ok(true));
    committed.connection_broke();
    assert_eq!(committed.begin_commit(), Ok(true));
}

#[test]
fn a_commit_or_abort_that_was_not_sent_can_be_canceled() {
    for end in [Transaction::begin_commit, Transaction::begin_abort] {
        let mut transaction = running();
        assert_eq!(end(&mut transaction), Ok(true));
        assert!(transaction.cancel_end());
        assert_eq!(transaction.state(), TransactionState::InProgress);
    }
    // The abort must reach the same mongos.
    let mut late = running();
    assert_eq!(late.begin_commit(), Ok(true));
    let error = late.failed(Commit, Error::timed_out("before the command was sent"));
    late.returned(Commit, &error);
    assert!(late.cancel_end() && late.pin().is_some());
    let mut sent = running();
    assert_eq!(sent.begin_commit(), Ok(true));
    sent.sending(Commit);
    sent.lost(Commit);
    assert!(!sent.cancel_end());
    assert_eq!(sent.state(), TransactionState::Committed);
    assert!(sent.pin().is_none(), "the mongos did not reply");
    assert_eq!(sent.begin_commit(), Ok(true), "the result is unknown");
    // The repetition is rejected, and canceled before its retry.
    sent.sending(Commit);
    let _ = sent.failed(Commit, overload());
    assert!(!sent.cancel_end());
    assert_eq!(sent.state(), TransactionState::Committed);
    // The server did not run the command.
    for (end, part) in [
        (Transaction::begin_commit as fn(&mut Transaction) -> _, Commit),
        (Transaction::begin_abort, Abort),
    ] {
        let mut overloaded = running();
        assert_eq!(end(&mut overloaded), Ok(true));
        overloaded.sending(part);
        let _ = overloaded.failed(part, overload());
        assert!(overloaded.cancel_end());
        assert_eq!(overloaded.state(), TransactionState::InProgress);
    }
}

#[test]
fn the_newest_recovery_token_is_kept() {
    let mut transaction = running();
    assert!(transaction.recovery_token().is_none());
    for number in 1..3 {
        transaction.answered(&rawdoc! { "token": number });
    }
    assert_eq!(transaction.recovery_token(), Some(&*rawdoc! { "token": 2 }));
}

#[test]
fn a_pinned_connection_that_was_closed_before_a_command_was_sent_is_reported() {
    let mut balanced = started();
    balanced.pin_to(Pin::Connection);
    balanced.lost_connection();
    assert_eq!(
        balanced.pin(),
        Some(&Pin::Connection),
        "the first command pins again"
    );
    balanced.sending(Operation);
    balanced.succeeded(Operation);
    balanced.lost_connection();
    assert_eq!(balanced.pin(), None);
    let refused = balanced.check(OperationOverrides::default(), false);
    assert_eq!(refused, Err(TransactionError::BrokenConnection));
    let mut routed = running();
    routed.lost_connection();
    assert!(routed.pin().is_some() && !routed.is_lost());
}
