//! Commands of a transaction whose futures were dropped, or whose time limit expired, while the server had
//! them.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use marula_driver::{
    Client, ErrorKind, Result, TransactionState,
    bson::{Document, doc},
    options::WriteConcern,
};

use marula_driver_tests::{Proxy, proxy::Action};
use marula_test_server::TestServer;

use super::{Bank, hold_next};

/// Longer than any reply that arrives.
const NEVER_MS: i32 = 20_000;
/// Longer than the longest wait for a late reply.
const LONG: Duration = Duration::from_secs(15);

/// A document, and a server that delays the next `update`.
async fn with_delayed_update(millis: i32) -> Bank {
    let bank = Bank::open().await;
    bank.accounts
        .insert_one(&doc! { "_id": 1, "a": 0 })
        .await
        .expect("an insert");
    let _ = bank.commands.take();
    delay_update(&bank, millis).await;
    bank
}

async fn delay_update(bank: &Bank, millis: i32) {
    let slow = doc! { "blockConnection": true, "blockTimeMS": millis };
    bank.fail("update", 1, slow).await;
}

/// Sends an update, and drops its future when the server has received that many updates.
async fn drop_update(bank: &Bank, count: usize, update: impl Future<Output = Result<()>>) {
    tokio::select! {
        biased;
        _ = update => panic!("the server waits"),
        () = bank.deployment.server.wait_for_command("update", count) => {}
    }
}

/// A document, and a client whose next `update` is held back by the proxy.
async fn with_held_update() -> (Proxy, Bank) {
    let (proxy, bank) = Bank::behind_proxy().await;
    let account = doc! { "_id": 1, "a": 0 };
    bank.accounts.insert_one(&account).await.expect("an insert");
    let _ = bank.commands.take();
    hold_next(&proxy, "update");
    (proxy, bank)
}

/// Sends an update, and drops its future when the proxy has received that many updates.
async fn drop_held_update(proxy: &Proxy, count: usize, update: impl Future<Output = Result<()>>) {
    tokio::select! {
        biased;
        _ = update => panic!("the command is held back"),
        () = proxy.wait_for_requests("update", count) => {}
    }
}

/// Ends the wait of the proxy, and checks that no abort was sent before.
async fn forward_late(proxy: &Proxy) {
    // Enough turns of the runtime for an abort to arrive.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(proxy.requests("abortTransaction"), 0, "it waits for the reply");
    proxy.end_waits();
}

async fn increment(bank: &Bank, tx: &mut marula_driver::ClientSession) -> Result<()> {
    let update = bank
        .accounts
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 1 } });
    update.session(tx).await.map(drop)
}

async fn value(bank: &Bank) -> i32 {
    let accounts = bank
        .deployment
        .client
        .database("bank")
        .collection::<Document>("accounts");
    let document = accounts.find_one(doc! { "_id": 1 }).await.expect("a find");
    document.expect("a document").get_i32("a").expect("an int32")
}

/// Otherwise the delayed command starts the transaction after its abort, and its locks are held until it expires.
#[tokio::test]
async fn an_abort_is_sent_after_the_reply_to_a_dropped_command() {
    let (proxy, bank) = with_held_update().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    drop_held_update(&proxy, 1, increment(&bank, &mut tx)).await;
    drop(tx);
    forward_late(&proxy).await;
    bank.deployment
        .server
        .wait_for_command("abortTransaction", 1)
        .await;
    let update = bank
        .accounts
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 5 } });
    update.await.unwrap();
    assert_eq!(value(&bank).await, 5);
    assert_eq!(bank.deployment.server.take_violations(), []);
}

#[tokio::test]
async fn a_transaction_runs_again_after_the_reply_to_a_dropped_command() {
    let (proxy, bank) = with_held_update().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    drop_held_update(&proxy, 1, increment(&bank, &mut tx)).await;
    drop(tx);
    hold_next(&proxy, "update");
    let calls = Mutex::new(0);
    let run = bank.client.transaction().run(async |tx| {
        let call = {
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            *calls += 1;
            *calls
        };
        if call == 1 {
            drop_held_update(&proxy, 2, increment(&bank, tx)).await;
            forward_late(&proxy).await;
        }
        increment(&bank, tx).await
    });
    run.await.unwrap();
    assert_eq!(value(&bank).await, 1);
    assert_eq!(bank.deployment.server.take_violations(), []);
}

/// The connection is closed after 3 s without a byte of the reply. The next transaction of the session has a higher number, so that
/// the server refuses the command, or aborts what it has started.
#[tokio::test]
async fn a_transaction_runs_again_if_the_reply_does_not_arrive() {
    let bank = with_delayed_update(8_000).await;
    let calls = Mutex::new(0);
    let run = bank.client.transaction().run(async |tx| {
        let call = {
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            *calls += 1;
            *calls
        };
        if call == 1 {
            drop_update(&bank, 1, increment(&bank, tx)).await;
        }
        increment(&bank, tx).await
    });
    run.await.unwrap();
    // When the server runs the delayed command.
    let update = bank
        .accounts
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 5 } });
    update.await.unwrap();
    assert_eq!(value(&bank).await, 6);
}

/// The abort has less time than the wait of 3 s.
#[tokio::test]
async fn an_abort_is_sent_before_the_deadline_of_a_shutdown() {
    let bank = with_delayed_update(NEVER_MS).await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    drop_update(&bank, 1, increment(&bank, &mut tx)).await;
    drop(tx);
    let deadline = Duration::from_secs(2);
    let _ = bank.client.shutdown().deadline(deadline).await;
    assert_eq!(bank.deployment.server.commands_seen("abortTransaction"), 1);
}

/// A document, and a proxy that forwards the replies to updates byte by byte.
async fn with_stepwise_updates() -> (TestServer, Proxy, Client) {
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("a replica set");
    let proxy = Proxy::start(server.primary().expect("a primary")).await;
    let client = Client::connect(proxy.uri("")).await.expect("a client");
    let accounts = client.database("bank").collection::<Document>("accounts");
    let account = doc! { "_id": 1, "a": 0 };
    accounts.insert_one(&account).await.expect("an insert");
    proxy.set_rule(|exchange| match exchange.command {
        "update" => Action::Stepwise((1..60).collect()),
        _ => Action::Pass,
    });
    (server, proxy, client)
}

/// Each call is given up before it has waited for long enough. The late reply arrives byte by byte, so that its
/// connection stays open.
#[tokio::test]
async fn repeated_aborts_wait_for_a_late_reply_together() {
    let (server, proxy, client) = with_stepwise_updates().await;
    let accounts = client.database("bank").collection::<Document>("accounts");
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let update = accounts.update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 1 } });
    tokio::select! {
        biased;
        _ = update.session(&mut session).into_future() => panic!("the reply is held back"),
        () = proxy.wait_for_held() => {}
    }
    let began = Instant::now();
    loop {
        proxy.release().await;
        let abort = session.abort_transaction().into_future();
        match tokio::time::timeout(Duration::from_millis(500), abort).await {
            Ok(aborted) => break aborted.unwrap(),
            // It was sent shortly before.
            Err(_) if session.transaction_state() == TransactionState::Aborted => break,
            Err(_) => assert_eq!(session.transaction_state(), TransactionState::InProgress),
        }
        assert!(began.elapsed() < LONG, "the abort is never sent");
    }
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(session.transaction_state(), TransactionState::Aborted);
    server.wait_for_command("abortTransaction", 1).await;
    client.shutdown().await;
    assert_eq!(server.commands_seen("abortTransaction"), 1);
    assert_eq!(server.open_transactions(), []);
}

/// The rest of the time is for the command.
#[tokio::test]
async fn an_abort_waits_for_half_of_its_time_limit() {
    let bank = with_delayed_update(NEVER_MS).await;
    let mut session = bank.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    drop_update(&bank, 1, increment(&bank, &mut session)).await;
    let limit = Duration::from_secs(3);
    let began = Instant::now();
    session.abort_transaction().timeout(limit).await.unwrap();
    assert!(began.elapsed() >= limit / 2, "{:?}", began.elapsed());
    assert_eq!(bank.deployment.server.commands_seen("abortTransaction"), 1);
}

/// An update that times out while the proxy holds it back.
async fn time_out_update(bank: &Bank, session: &mut marula_driver::ClientSession) {
    let update = bank
        .accounts
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 1 } });
    let error = update
        .session(session)
        .timeout(Duration::from_secs(1))
        .await
        .expect_err("a time limit");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
}

#[tokio::test]
async fn an_abort_is_sent_after_the_reply_to_a_command_that_timed_out() {
    let (proxy, bank) = with_held_update().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    time_out_update(&bank, &mut tx).await;
    let (aborted, ()) = tokio::join!(tx.abort().into_future(), forward_late(&proxy));
    aborted.unwrap();
    assert_eq!(bank.names(), "update* abortTransaction");
    assert_eq!(bank.deployment.server.open_transactions(), []);
    assert_eq!(value(&bank).await, 0);
}

/// The first command has not started the transaction when it times out, and the next one does not start it.
#[tokio::test]
async fn the_operation_after_a_timeout_is_sent_after_the_late_reply() {
    let (proxy, bank) = with_held_update().await;
    let mut session = bank.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    // The test server ignores `maxTimeMS` of an update.
    time_out_update(&bank, &mut session).await;
    let (incremented, ()) = tokio::join!(increment(&bank, &mut session), forward_late(&proxy));
    incremented.unwrap();
    session.commit_transaction().await.unwrap();
    assert_eq!(bank.names(), "update* update commitTransaction");
    assert_eq!(value(&bank).await, 2);
}

#[tokio::test]
async fn a_repeated_commit_is_sent_after_the_reply_to_a_dropped_one() {
    let bank = with_delayed_update(0).await;
    let slow = doc! { "blockConnection": true, "blockTimeMS": 600 };
    bank.fail("commitTransaction", 1, slow).await;
    let start = bank.client.start_transaction();
    let mut tx = start.write_concern(WriteConcern::nodes(1)).await.unwrap();
    increment(&bank, &mut tx).await.unwrap();
    let began = Instant::now();
    tokio::select! {
        biased;
        _ = tx.commit().into_future() => panic!("the server waits"),
        () = bank.deployment.server.wait_for_command("commitTransaction", 1) => {}
    }
    tx.commit().await.unwrap();
    assert!(
        began.elapsed() >= Duration::from_millis(600),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(bank.names(), "update* commitTransaction commitTransaction");
    assert_eq!(value(&bank).await, 1);
}

#[tokio::test]
async fn an_abort_that_is_dropped_while_it_waits_leaves_the_transaction_in_progress() {
    let bank = with_delayed_update(600).await;
    let mut session = bank.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    drop_update(&bank, 1, increment(&bank, &mut session)).await;
    let abort = session.abort_transaction().into_future();
    let given_up = tokio::time::timeout(Duration::from_millis(20), abort).await;
    assert!(given_up.is_err());
    assert!(session.in_transaction());
    assert_eq!(bank.names(), "update*");
    session.abort_transaction().await.unwrap();
    assert_eq!(bank.names(), "abortTransaction");
    assert_eq!(bank.deployment.server.open_transactions(), []);
}

/// All commands together wait for 3 s, after which no command waits for the reply.
#[tokio::test]
async fn a_late_reply_is_awaited_once() {
    let (server, proxy, client) = with_stepwise_updates().await;
    let accounts = client.database("bank").collection::<Document>("accounts");
    let increment = || accounts.update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 1 } });
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    tokio::select! {
        biased;
        _ = increment().session(&mut session).into_future() => panic!("the reply is held back"),
        () = proxy.wait_for_held() => {}
    }
    proxy.pass_everything();
    let began = Instant::now();
    let limit = Duration::from_secs(2);
    session.abort_transaction().timeout(limit).await.unwrap();
    session.start_transaction().await.unwrap();
    for _ in 0..3 {
        // The connection stays open for 3 s since this byte.
        proxy.release().await;
        increment().session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    // 3 s in all, and not for each command.
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(server.open_transactions(), []);
}
