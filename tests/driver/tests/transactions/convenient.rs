//! The convenient API: its prose tests, and how errors decide about another attempt.

use std::{
    error::Error as StdError,
    fmt,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use marula_driver::{
    Client, Collection, Error, ErrorKind, Result, TRANSIENT_TRANSACTION_ERROR,
    UNKNOWN_TRANSACTION_COMMIT_RESULT,
    bson::{Document, doc},
    internals::fix_jitter,
    options::{ReadConcern, WriteConcern},
};
use marula_driver_tests::{
    Deployment, Proxied,
    proxy::{Action, Place},
    replica_set,
};
use marula_test_server::TestServer;

use super::Bank;

#[derive(Debug)]
enum ShopError {
    OutOfStock,
    Database(Error),
}

impl From<Error> for ShopError {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl fmt::Display for ShopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfStock => f.write_str("out of stock"),
            Self::Database(error) => error.fmt(f),
        }
    }
}

impl StdError for ShopError {}

#[tokio::test]
async fn transactions_convenient_api_prose_1() {
    let bank = Bank::open().await;
    let calls = AtomicU32::new(0);
    let outcome: Result<(), ShopError> = bank
        .client
        .transaction()
        .run(async |tx| {
            calls.fetch_add(1, Ordering::Relaxed);
            bank.accounts.insert_one(&doc! {}).session(tx).await?;
            Err(ShopError::OutOfStock)
        })
        .await;
    assert!(matches!(outcome, Err(ShopError::OutOfStock)));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(bank.names(), "insert* abortTransaction");
}

#[tokio::test]
async fn transactions_convenient_api_prose_2() {
    let bank = Bank::open().await;
    let outcome: Result<&str> = bank.client.transaction().run(async |_| Ok("Foo")).await;
    assert_eq!(outcome.unwrap(), "Foo");
    let mut session = bank.client.start_session().await.unwrap();
    let outcome: Result<bool> = session.with_transaction().run(async |_| Ok(true)).await;
    assert!(outcome.unwrap());
}

/// An error after the time limit has the labels of the last error, which is its source.
#[tokio::test]
async fn transactions_convenient_api_prose_3() {
    for (command, code, label) in [
        ("insert", 24, TRANSIENT_TRANSACTION_ERROR),
        ("commitTransaction", 91, UNKNOWN_TRANSACTION_COMMIT_RESULT),
        ("commitTransaction", 251, TRANSIENT_TRANSACTION_ERROR),
    ] {
        let bank = Bank::open().await;
        bank.accounts.insert_one(&doc! {}).await.unwrap();
        bank.fail(command, 100, doc! { "errorCode": code, "errorLabels": [label] })
            .await;
        let outcome = bank
            .client
            .transaction()
            .time_limit(Duration::ZERO)
            .run(async |tx| bank.accounts.insert_one(&doc! {}).session(tx).await)
            .await;
        let error = outcome.unwrap_err();
        assert!(error.is_timeout() && error.contains_label(label), "{error:?}");
        let ErrorKind::Timeout(timeout) = error.kind() else {
            panic!("{error:?}");
        };
        let cause = timeout.cause().expect("the last error");
        assert_eq!(cause.code(), Some(code), "{error:?}");
    }
}

#[tokio::test]
async fn transactions_convenient_api_prose_4() {
    let mut durations = Vec::new();
    for jitter in [0.0, 0.999_999] {
        let bank = Bank::with(replica_set().await, |options| fix_jitter(options, jitter));
        bank.fail("commitTransaction", 13, doc! { "errorCode": 251 })
            .await;
        let began = Instant::now();
        let outcome = bank
            .client
            .transaction()
            .run(async |tx| bank.accounts.insert_one(&doc! {}).session(tx).await)
            .await;
        outcome.unwrap();
        durations.push(began.elapsed());
    }
    // The specification compares both durations. Only a lower bound does not depend on the load of the
    // machine; the pauses with the highest jitter are 2.28 s together.
    assert!(durations[1] >= Duration::from_millis(2_270), "{durations:?}");
}

#[tokio::test]
async fn a_transient_error_runs_the_transaction_again_whatever_type_the_body_returns() {
    let bank = Bank::open().await;
    bank.accounts.insert_one(&doc! {}).await.unwrap();
    let calls = AtomicU32::new(0);
    let insert = async |tx: &mut marula_driver::TransactionScope| {
        calls.fetch_add(1, Ordering::Relaxed);
        bank.accounts.insert_one(&doc! {}).session(tx).await
    };
    let transient = doc! { "errorCode": 24 };
    bank.fail("insert", 1, transient.clone()).await;
    bank.client.transaction().run(insert).await.unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 2);

    bank.fail("insert", 1, transient.clone()).await;
    let outcome: Result<(), ShopError> = bank
        .client
        .transaction()
        .run(async |tx| insert(tx).await.map(drop).map_err(ShopError::Database))
        .await;
    outcome.unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 2);

    bank.fail("insert", 1, transient).await;
    let outcome: Result<(), Box<dyn StdError + Send + Sync>> = bank
        .client
        .transaction()
        .run(async |tx| {
            let number: u32 = "7".parse()?;
            assert_eq!(number, 7);
            insert(tx).await?;
            Ok(())
        })
        .await;
    outcome.unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 2);

    bank.fail("insert", 1, doc! { "errorCode": 11000 }).await;
    let outcome: Result<(), ShopError> = bank
        .client
        .transaction()
        .run(async |tx| Ok(insert(tx).await.map(drop)?))
        .await;
    assert!(matches!(outcome, Err(ShopError::Database(_))));
    assert_eq!(calls.load(Ordering::Relaxed), 1, "an error without the label");
}

/// An overloaded server did not run the commit, so the transaction is open.
#[tokio::test]
async fn a_commit_that_an_overloaded_server_refused_is_followed_by_an_abort() {
    let bank = Bank::open().await;
    let labels = ["SystemOverloadedError", "RetryableError"];
    let overload = doc! { "errorCode": 462, "errorLabels": labels.to_vec() };
    bank.fail("commitTransaction", 100, overload).await;
    let run = bank.client.transaction();
    let run = run.run(async |tx| bank.accounts.insert_one(&doc! {}).session(tx).await);
    let error = run.await.unwrap_err();
    assert_eq!(error.code(), Some(462), "{error}");
    let names = bank.names();
    assert!(
        names.starts_with("insert* commitTransaction")
            && names.ends_with("commitTransaction abortTransaction"),
        "{names}"
    );
}

#[tokio::test]
async fn a_commit_with_an_unknown_result_is_repeated_with_majority() {
    let bank = Bank::open().await;
    bank.fail(
        "commitTransaction",
        2,
        doc! { "errorCode": 6, "errorLabels": ["RetryableWriteError"] },
    )
    .await;
    bank.client
        .transaction()
        .write_concern(WriteConcern::nodes(1))
        .read_concern(ReadConcern::majority())
        .max_commit_time(Duration::from_secs(60))
        .run(async |tx| bank.accounts.insert_one(&doc! {}).session(tx).await)
        .await
        .unwrap();
    let commands = bank.commands.commands();
    let commits: Vec<_> = commands
        .iter()
        .filter(|command| command.contains_key("commitTransaction"))
        .collect();
    assert_eq!(commits.len(), 3);
    assert_eq!(commits[0].get_document("writeConcern").unwrap(), &doc! { "w": 1 });
    assert_eq!(commits[0].get_i64("maxTimeMS").unwrap(), 60_000);
    let majority = doc! { "w": "majority", "wtimeout": 10_000_i64 };
    for repeated in &commits[1..] {
        assert_eq!(repeated.get_document("writeConcern").unwrap(), &majority);
    }
    assert_eq!(bank.stored().await, 1);
}

#[tokio::test]
async fn a_body_may_commit_or_abort_itself() {
    let bank = Bank::open().await;
    let outcome = bank.client.transaction().run(async |tx| {
        bank.accounts.insert_one(&doc! {}).session(tx).await?;
        tx.commit().await
    });
    outcome.await.unwrap();
    let outcome = bank.client.transaction().run(async |tx| {
        bank.accounts.insert_one(&doc! {}).session(tx).await?;
        tx.abort_transaction().await
    });
    outcome.await.unwrap();
    assert_eq!(bank.names(), "insert* commitTransaction insert* abortTransaction");
    assert_eq!(bank.stored().await, 1);
}

#[tokio::test]
async fn a_commit_whose_reply_cannot_be_read_is_repeated() {
    let deployment = Proxied::replica_set(TestServer::builder()).await;
    let client = Client::connect(deployment.uri("", "")).await.unwrap();
    let mut is_first = true;
    deployment.writable().set_rule(move |exchange| {
        if exchange.command != "commitTransaction" || !std::mem::take(&mut is_first) {
            return Action::Pass;
        }
        // The kind of the section.
        let at = Place::FromStart(20);
        Action::Corrupt { at, mask: 0x80 }
    });
    let accounts: Collection<Document> = client.database("bank").collection("accounts");
    let insert = client
        .transaction()
        .run(async |tx| accounts.insert_one(&doc! {}).session(tx).await);
    insert.await.unwrap();
    assert_eq!(accounts.count_documents(doc! {}).await.unwrap(), 1);
    assert_eq!(deployment.server.commands_seen("commitTransaction"), 2);
}

/// An error reply aborts the transaction on the server. A body that succeeds nevertheless is run again
/// until the time limit, and the final error contains the error that the body did not return.
#[tokio::test]
async fn an_error_that_the_body_does_not_return_is_part_of_the_final_error() {
    let bank = Bank::open().await;
    bank.accounts.insert_one(&doc! { "_id": 1 }).await.unwrap();
    let outcome: Result<()> = bank
        .client
        .transaction()
        .time_limit(Duration::ZERO)
        .run(async |tx| {
            let _ = bank.accounts.insert_one(&doc! { "_id": 1 }).session(tx).await;
            Ok(())
        })
        .await;
    let error = outcome.unwrap_err();
    let ErrorKind::Timeout(timeout) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(error.code(), Some(251), "the commit: {error}");
    let hidden = timeout.operation_error().expect("the error of the insert");
    assert!(hidden.is_duplicate_key(), "{hidden}");
    let text = error.to_string();
    assert!(
        text.contains("although one of its operations failed: ") && text.contains("E11000"),
        "{text}"
    );
}

/// The final error of a body with an error type of its own contains the transient error for which it
/// was run again.
#[tokio::test]
async fn the_transient_error_behind_an_error_of_the_body_is_the_source_of_the_final_error() {
    let bank = Bank::open().await;
    bank.accounts.insert_one(&doc! {}).await.unwrap();
    bank.fail(
        "insert",
        100,
        doc! { "errorCode": 24, "errorLabels": [TRANSIENT_TRANSACTION_ERROR] },
    )
    .await;
    let outcome: Result<(), ShopError> = bank
        .client
        .transaction()
        .time_limit(Duration::ZERO)
        .run(async |tx| {
            let inserted = bank.accounts.insert_one(&doc! {}).session(tx).await;
            inserted.map(drop).map_err(|_| ShopError::OutOfStock)
        })
        .await;
    let Err(ShopError::Database(error)) = outcome else {
        panic!("{outcome:?}");
    };
    let ErrorKind::Timeout(timeout) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(timeout.cause().and_then(Error::code), Some(24), "{error}");
    assert!(timeout.operation_error().is_none(), "it is the cause: {error}");
}

/// "The commit is retried" unless `MaxTimeMSExpired` or the time limit ends it: also if the new connection of a retry
/// can't be authenticated at once.
#[tokio::test]
async fn a_commit_is_repeated_after_an_authentication_error_of_its_connection() {
    let server = TestServer::builder()
        .replica_set()
        .auth("root", "hunter2")
        .start()
        .await;
    let deployment = Deployment::of(server.expect("a server"), "").await;
    let bank = Bank::of(deployment);
    bank.fail("commitTransaction", 1, doc! { "closeConnection": true })
        .await;
    let runs = AtomicU32::new(0);
    let run = bank.client.transaction().run(async |tx| {
        runs.fetch_add(1, Ordering::Relaxed);
        bank.accounts.insert_one(&doc! {}).session(tx).await?;
        // The only connection of the client is closed by the commit.
        bank.fail("saslContinue", 1, doc! { "errorCode": 18 }).await;
        Ok::<_, Error>(())
    });
    run.await.unwrap();
    assert_eq!((runs.into_inner(), bank.stored().await), (1, 1));
}
