//! Time limits of transactions.

use std::time::Duration;

use marula_driver::{
    ClientSession, Error, ErrorKind, Result, TransactionState, UNKNOWN_TRANSACTION_COMMIT_RESULT,
    bson::{Document, doc},
};
use tokio::task::JoinHandle;

use super::Bank;

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(600);

fn assert_expired(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    assert!(error.to_string().contains("another command"), "{error}");
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T>, text: &str) {
    let error = result.expect_err("a refusal");
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
    assert!(error.to_string().contains(text), "{error}");
}

fn names(commands: &[Document]) -> Vec<&String> {
    commands
        .iter()
        .filter_map(|command| command.keys().next())
        .collect()
}

fn has_max_time(command: &Document) -> bool {
    command.contains_key("maxTimeMS")
}

#[tokio::test]
async fn the_wait_for_another_command_of_the_transaction_has_a_time_limit() {
    let bank = Bank::open().await;
    bank.accounts
        .insert_many(&[doc! {}, doc! {}, doc! {}])
        .await
        .unwrap();
    let slow = doc! { "blockConnection": true, "blockTimeMS": 600_000 };
    bank.fail("getMore", 1, slow).await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    let find = bank.accounts.find(doc! {}).batch_size(2);
    let cursor = find.session(&mut tx).await.unwrap();
    let reading = tokio::spawn(cursor.try_collect());
    bank.deployment.server.wait_for_command("getMore", 1).await;
    let document = doc! {};
    let expired = async {
        let limit = Duration::from_millis(20);
        let insert = bank.accounts.insert_one(&document).session(&mut tx);
        assert_expired(&insert.timeout(limit).await.unwrap_err());
        let error = tx.commit().timeout(limit).await.unwrap_err();
        assert_expired(&error);
        assert!(error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT));
        assert_eq!(tx.transaction_state(), TransactionState::InProgress);
        assert_expired(&tx.abort_transaction().timeout(limit).await.unwrap_err());
        assert_eq!(tx.transaction_state(), TransactionState::InProgress);
    };
    tokio::time::timeout(Duration::from_secs(20), expired)
        .await
        .unwrap();
    reading.abort();
    assert!(reading.await.unwrap_err().is_cancelled());
    tx.abort().await.unwrap();
    assert!(bank.names().ends_with("getMore abortTransaction"));
}

#[tokio::test]
async fn an_abort_by_the_body_has_the_time_limit_of_the_run() {
    let bank = Bank::open().await;
    let run = bank
        .client
        .transaction()
        .timeout(LONG)
        .run(async |tx| -> Result<()> {
            bank.accounts.insert_one(&doc! {}).session(tx).await?;
            assert_refused(
                tx.abort_transaction().timeout(LONG).await,
                "includes this operation",
            );
            assert_refused(tx.commit().timeout(LONG).await, "includes this operation");
            assert_eq!(tx.transaction_state(), TransactionState::InProgress);
            tx.abort_transaction().await
        });
    run.await.unwrap();
    let commands = bank.commands.commands();
    assert_eq!(commands.len(), 2, "{commands:?}");
    assert!(commands.iter().all(has_max_time), "{commands:?}");
}

#[tokio::test]
async fn a_run_in_the_body_of_another_keeps_its_time_limit() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let run = session.with_transaction().timeout(LONG).run(async |session| {
        let nested = session.with_transaction().run(async |_| Result::Ok(()));
        assert_refused(nested.await, "Transaction already in progress");
        let nested = session
            .with_transaction()
            .timeout(LONG)
            .run(async |_| Result::Ok(()));
        assert_refused(nested.await, "includes this operation");
        bank.accounts.insert_one(&doc! {}).session(session).await?;
        session.commit_transaction().await?;
        let nested = session
            .with_transaction()
            .run(async |session| bank.accounts.insert_one(&doc! {}).session(session).await);
        nested.await
    });
    run.await.unwrap();
    bank.accounts
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap();
    let commands = bank.commands.commands();
    let limited: Vec<bool> = commands.iter().map(has_max_time).collect();
    assert_eq!(limited, [true, true, true, true, false], "{commands:?}");
}

/// The commit is too late, so it is not sent, and the transaction is open on the server.
#[tokio::test]
async fn a_commit_that_was_not_sent_in_time_is_followed_by_an_abort() {
    let bank = Bank::open().await;
    // Connects.
    bank.accounts.insert_one(&doc! {}).await.unwrap();
    let _ = bank.commands.take();
    let limit = Duration::from_secs(1);
    let run = bank.client.transaction().timeout(limit);
    let run = run.run(async |tx| -> Result<()> {
        bank.accounts.insert_one(&doc! {}).session(tx).await?;
        tokio::time::sleep(limit).await;
        Ok(())
    });
    let error = run.await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    let expected = "the time limit of the transaction expired (set by the timeout of the transaction) \
                    before the command was sent (commitTransaction on admin)";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert!(
        !error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT),
        "{error}"
    );
    assert_eq!(bank.names(), "insert* abortTransaction");
}

#[tokio::test]
async fn the_end_of_the_session_by_the_body_aborts_within_the_time_limit_of_the_run() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let run = session.with_transaction().timeout(LONG);
    let run = run.run(async |session| -> Result<()> {
        bank.accounts.insert_one(&doc! {}).session(session).await?;
        session.end_within(LONG).await;
        Ok(())
    });
    run.await.unwrap();
    let commands = bank.commands.commands();
    assert!(commands.iter().all(has_max_time), "{commands:?}");
    assert_eq!(names(&commands), ["insert", "abortTransaction"]);
}

#[tokio::test]
async fn the_close_of_a_cursor_has_the_time_limit_of_the_run() {
    let bank = Bank::open().await;
    let all = [doc! {}, doc! {}, doc! {}];
    bank.accounts.insert_many(&all).await.unwrap();
    bank.names();
    let run = bank.client.transaction().timeout(LONG);
    let run = run.run(async |tx| -> Result<()> {
        let cursor = bank.accounts.find(doc! {}).batch_size(2).session(tx).await?;
        cursor.close().await;
        Ok(())
    });
    run.await.unwrap();
    let commands = bank.commands.commands();
    assert!(commands.iter().all(has_max_time), "{commands:?}");
    assert_eq!(names(&commands), ["find", "killCursors", "commitTransaction"]);
}

/// Three documents, a transaction in the session, and a task that reads a cursor of it whose getMore is slow.
async fn read_slowly(bank: &Bank, session: &mut ClientSession) -> JoinHandle<Result<Vec<Document>>> {
    let documents = [doc! {}, doc! {}, doc! {}];
    bank.accounts.insert_many(&documents).await.expect("inserts");
    let slow = doc! { "blockConnection": true, "blockTimeMS": 1_000 };
    bank.fail("getMore", 1, slow).await;
    session.start_transaction().await.expect("a transaction");
    let find = bank.accounts.find(doc! {}).batch_size(2).session(session);
    let reading = tokio::spawn(find.await.expect("a cursor").try_collect());
    bank.deployment.server.wait_for_command("getMore", 1).await;
    reading
}

/// Otherwise the server would keep the locks of the transaction until it expires.
#[tokio::test]
async fn a_session_that_ends_within_a_time_limit_aborts_after_a_running_command() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let reading = read_slowly(&bank, &mut session).await;
    session.end_within(Duration::from_millis(50)).await;
    assert_eq!(session.id(), None, "the session has ended");
    assert_eq!(session.transaction_state(), TransactionState::None);
    assert_eq!(bank.deployment.server.commands_seen("abortTransaction"), 0);
    let error = bank
        .accounts
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
    let rest = bank.client.shutdown().deadline(LONG).await;
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(bank.deployment.server.commands_seen("abortTransaction"), 1);
    assert_eq!(bank.deployment.server.open_transactions(), []);
    let _ = reading.await.unwrap();
}

#[tokio::test]
async fn a_dropped_session_aborts_after_a_running_command() {
    let bank = Bank::open().await;
    let start = bank.client.start_session();
    let mut session = start.default_timeout(Duration::from_millis(50)).await.unwrap();
    let reading = read_slowly(&bank, &mut session).await;
    drop(session);
    let rest = bank.client.shutdown().deadline(LONG).await;
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(bank.deployment.server.commands_seen("abortTransaction"), 1);
    assert_eq!(bank.deployment.server.open_transactions(), []);
    let _ = reading.await.unwrap();
}
