//! Dropped scopes, futures and sessions, and bodies that panic.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use futures_util::FutureExt;
use marula_driver::{
    Result, TRANSIENT_TRANSACTION_ERROR, TransactionState, bson::doc, options::WriteConcern,
};
use marula_driver_tests::{
    Counts, PoolTally,
    polling::{Gate, Held, poll_times},
    replica_set,
};

use super::{Bank, hold_next};

#[tokio::test]
async fn a_dropped_scope_is_aborted_and_its_session_is_used_again() {
    let bank = Bank::open().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    bank.accounts.insert_one(&doc! {}).session(&mut tx).await.unwrap();
    let id = tx.id().unwrap();
    drop(tx);
    let during = bank.client.start_session().await.unwrap();
    assert_ne!(during.id().unwrap(), id, "the abort uses the session");
    bank.deployment
        .server
        .wait_for_command("abortTransaction", 1)
        .await;
    // The reply to the abort precedes the return of the session.
    while bank.client.start_session().await.unwrap().id().unwrap() != id {
        tokio::task::yield_now().await;
    }
    assert_eq!(bank.stored().await, 0);
    assert!(bank.names().starts_with("insert* abortTransaction"));
}

#[tokio::test]
async fn an_empty_or_committed_scope_sends_nothing_when_it_is_dropped() {
    let bank = Bank::open().await;
    drop(bank.client.start_transaction().await.unwrap());
    let mut tx = bank.client.start_transaction().await.unwrap();
    bank.accounts.insert_one(&doc! {}).session(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    drop(tx);
    bank.accounts.find_one(doc! {}).await.unwrap();
    assert_eq!(bank.names(), "insert* commitTransaction find");
}

#[tokio::test]
async fn ending_a_session_aborts_its_transaction() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    bank.accounts
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap();
    session.end().await;
    assert_eq!(bank.names(), "insert* abortTransaction");
}

#[tokio::test]
async fn a_scope_can_be_dropped_on_a_thread_without_a_runtime() {
    let bank = Bank::open().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    bank.accounts.insert_one(&doc! {}).session(&mut tx).await.unwrap();
    std::thread::spawn(move || drop(tx)).join().unwrap();
    bank.deployment
        .server
        .wait_for_command("abortTransaction", 1)
        .await;
}

#[tokio::test]
async fn a_scope_can_be_dropped_after_its_runtime() {
    let bank = Bank::open().await;
    let uri = bank.deployment.server.uri();
    let tx = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let client = marula_driver::Client::connect(uri).await.unwrap();
            let accounts = client.database("bank").collection("accounts");
            let mut tx = client.start_transaction().await.unwrap();
            accounts.insert_one(&doc! {}).session(&mut tx).await.unwrap();
            tx
        })
    });
    drop(tx.join().unwrap());
    assert_eq!(bank.stored().await, 0);
}

#[tokio::test]
async fn a_body_that_panics_aborts_the_transaction() {
    let bank = Bank::open().await;
    let run = bank.client.transaction().run(async |tx| -> Result<()> {
        bank.accounts.insert_one(&doc! {}).session(tx).await?;
        panic!("in the body")
    });
    assert!(std::panic::AssertUnwindSafe(run).catch_unwind().await.is_err());
    bank.deployment
        .server
        .wait_for_command("abortTransaction", 1)
        .await;
    assert_eq!(bank.stored().await, 0);
}

#[tokio::test]
async fn a_dropped_operation_makes_the_transaction_run_again() {
    let (proxy, bank) = Bank::behind_proxy().await;
    bank.accounts.insert_one(&doc! {}).await.unwrap();
    hold_next(&proxy, "insert");
    let calls = AtomicU32::new(0);
    bank.client
        .transaction()
        .run(async |tx| {
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                let document = doc! {};
                let insert = bank.accounts.insert_one(&document).session(tx).into_future();
                // Dropped when the command is sent.
                tokio::select! {
                    biased;
                    _ = insert => panic!("the command is held back"),
                    () = proxy.wait_for_requests("insert", 2) => {}
                }
                proxy.end_waits();
                let error = bank.accounts.insert_one(&doc! {}).session(tx).await.unwrap_err();
                assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR), "{error}");
                let error = tx.commit().await.unwrap_err();
                assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR), "{error}");
                assert_eq!(tx.transaction_state(), TransactionState::InProgress);
                return Err(error);
            }
            bank.accounts.insert_one(&doc! {}).session(tx).await.map(drop)
        })
        .await
        .unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(
        bank.stored().await,
        2,
        "once, and the document outside the transaction"
    );
}

#[tokio::test]
async fn a_commit_whose_future_was_dropped_is_repeated_with_majority() {
    let (proxy, bank) = Bank::behind_proxy().await;
    hold_next(&proxy, "commitTransaction");
    let start = bank
        .client
        .start_transaction()
        .write_concern(WriteConcern::nodes(1));
    let mut tx = start.await.unwrap();
    bank.accounts.insert_one(&doc! {}).session(&mut tx).await.unwrap();
    tokio::select! {
        biased;
        _ = tx.commit().into_future() => panic!("the command is held back"),
        () = proxy.wait_for_requests("commitTransaction", 1) => {}
    }
    proxy.end_waits();
    assert_eq!(tx.transaction_state(), TransactionState::Committed);
    tx.commit().await.unwrap();
    let commands = bank.commands.commands();
    let concerns: Vec<_> = commands[1..]
        .iter()
        .map(|commit| commit.get_document("writeConcern").unwrap().clone())
        .collect();
    let majority = doc! { "w": "majority", "wtimeout": 10_000_i64 };
    assert_eq!(concerns, [doc! { "w": 1 }, majority]);
    assert_eq!(bank.stored().await, 1);
}

/// No reply is held back.
struct Unheld;

impl Gate for Unheld {
    async fn release(&self) {
        std::future::pending::<()>().await;
    }
}

/// Drops a whole run after each number of polls: nothing is stored twice, and every connection
/// returns.
#[tokio::test]
async fn a_run_can_be_dropped_at_every_poll() {
    let tally = PoolTally::default();
    let bank = Bank::with(replica_set().await, |options| {
        options.max_pool_size = 1;
        tally.listen(options);
    });
    bank.accounts.insert_one(&doc! { "_id": "first" }).await.unwrap();
    let mut is_done = false;
    let mut polls = 0;
    while !is_done {
        polls += 1;
        let id = doc! { "_id": i64::try_from(polls).unwrap() };
        let run = bank.client.transaction().run(async |tx| {
            bank.accounts.insert_one(&id).session(tx).await?;
            bank.accounts.find_one(doc! {}).session(tx).await
        });
        let polled = poll_times(Box::pin(run), polls, &Unheld, Held::OfOthersToo);
        is_done = polled.await.is_some();
    }
    // The connection, a session and a turn are free.
    tokio::time::timeout(Duration::from_secs(20), async {
        let run = bank.client.transaction().run(async |tx| {
            bank.accounts
                .insert_one(&doc! { "_id": "last" })
                .session(tx)
                .await
        });
        run.await.unwrap();
    })
    .await
    .unwrap();
    assert!(polls > 3, "{polls}");
    bank.client.shutdown().await;
    tally.wait_until(Counts::is_at_rest).await;
}

/// The abort takes its place in the WaitQueue when the transaction is dropped: the next update of the same
/// document would wait on the server for the abort, with the only connection.
#[tokio::test]
async fn the_abort_of_a_dropped_transaction_precedes_later_operations_of_a_full_pool() {
    let bank = Bank::with(replica_set().await, |options| options.max_pool_size = 1);
    bank.accounts
        .insert_one(&doc! { "_id": 1, "n": 0 })
        .await
        .unwrap();
    let increment = doc! { "$inc": { "n": 1 } };
    let update = || bank.accounts.update_one(doc! { "_id": 1 }, &increment);
    for round in 1..=20 {
        let mut tx = bank.client.start_transaction().await.unwrap();
        update().session(&mut tx).await.unwrap();
        drop(tx);
        let updated = tokio::time::timeout(Duration::from_secs(60), update().into_future()).await;
        assert_eq!(updated.expect("the abort precedes it").unwrap().modified_count, 1);
        let found = bank.accounts.find_one(doc! { "n": round }).await.unwrap();
        assert!(found.is_some(), "the transaction was aborted");
    }
}

/// A command that has its turn before the abort uses the check-out that has begun for the abort: it would wait for a
/// connection, and the abort for it.
#[tokio::test]
async fn a_cursor_that_is_read_when_its_transaction_is_dropped_does_not_wait_for_the_abort() {
    let bank = Bank::with(replica_set().await, |options| options.max_pool_size = 1);
    let documents: Vec<_> = (0..20).map(|id| doc! { "_id": id }).collect();
    bank.accounts.insert_many(&documents).await.unwrap();
    for _ in 0..10 {
        let mut tx = bank.client.start_transaction().await.unwrap();
        let mut cursors = Vec::new();
        for _ in 0..2 {
            cursors.push(
                bank.accounts
                    .find(doc! {})
                    .batch_size(2)
                    .session(&mut tx)
                    .await
                    .unwrap(),
            );
        }
        let readers: Vec<_> = cursors
            .into_iter()
            .map(|mut cursor| {
                tokio::spawn(async move {
                    // An error if the abort came first.
                    while let Ok(true) = cursor.advance().await {}
                })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(tx);
        let read = tokio::time::timeout(Duration::from_secs(60), futures_util::future::join_all(readers));
        for reader in read.await.expect("no reader waits for the abort") {
            reader.unwrap();
        }
        let found = bank.accounts.find_one(doc! {}).into_future();
        let found = tokio::time::timeout(Duration::from_secs(60), found).await;
        assert!(found.expect("the pool has a connection").unwrap().is_some());
    }
}
