//! Commands of a transaction whose futures were dropped while the server had them.

use std::sync::{Mutex, PoisonError};

use marula_driver::{
    Result,
    bson::{Document, doc},
};

use super::Bank;

/// A document, and a server that delays the next `update`.
async fn with_delayed_update(millis: i32) -> Bank {
    let bank = Bank::open().await;
    bank.accounts
        .insert_one(&doc! { "_id": 1, "a": 0 })
        .await
        .expect("an insert");
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
    let bank = with_delayed_update(200).await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    drop_update(&bank, 1, increment(&bank, &mut tx)).await;
    drop(tx);
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
    let bank = with_delayed_update(200).await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    drop_update(&bank, 1, increment(&bank, &mut tx)).await;
    drop(tx);
    delay_update(&bank, 200).await;
    let calls = Mutex::new(0);
    let run = bank.client.transaction().run(async |tx| {
        let call = {
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            *calls += 1;
            *calls
        };
        if call == 1 {
            drop_update(&bank, 2, increment(&bank, tx)).await;
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
