//! Cursors of transactions.

use futures_util::{FutureExt, StreamExt};
use marula_driver::{bson::doc, internals::sessions::pin};
use marula_driver_tests::Deployment;
use marula_test_server::TestServer;

use super::Bank;

async fn filled() -> Bank {
    let bank = Bank::open().await;
    fill(&bank).await;
    bank
}

async fn fill(bank: &Bank) {
    let all: Vec<_> = (0..9).map(|id| doc! { "_id": id }).collect();
    bank.accounts.insert_many(&all).await.expect("documents");
    let _ = bank.names();
}

#[tokio::test]
async fn a_dropped_cursor_sends_nothing_and_a_closed_one_kill_cursors() {
    let bank = filled().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    let find = || bank.accounts.find(doc! {}).batch_size(2);
    drop(find().session(&mut tx).await.unwrap());
    let closed = find().session(&mut tx).await.unwrap();
    closed.close().await;
    let late = find().session(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    late.close().await;
    // A command that was sent in the background would come before these.
    for _ in 0..3 {
        bank.accounts.count_documents(doc! {}).await.unwrap();
    }
    assert_eq!(
        bank.names(),
        "find* find killCursors find commitTransaction aggregate aggregate aggregate"
    );
}

#[tokio::test]
async fn a_cursor_ends_with_its_transaction() {
    let bank = filled().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    let mut cursor = bank
        .accounts
        .find(doc! {})
        .batch_size(2)
        .session(&mut tx)
        .await
        .unwrap();
    for _ in 0..3 {
        cursor.try_next().await.unwrap();
    }
    tx.commit().await.unwrap();
    assert!(cursor.try_next().await.unwrap().is_some(), "in the batch");
    let error = cursor.try_next().await.unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
    assert!(cursor.try_next().await.unwrap().is_none());
    assert_eq!(bank.names(), "find* getMore commitTransaction");
}

#[tokio::test]
async fn a_cursor_of_the_session_is_not_read_in_a_later_transaction() {
    let bank = filled().await;
    let mut session = bank.client.start_session().await.unwrap();
    let find = bank.accounts.find(doc! {}).batch_size(2);
    let mut outside = find.session(&mut session).await.unwrap();
    for _ in 0..2 {
        outside.try_next().await.unwrap();
    }
    session.start_transaction().await.unwrap();
    bank.accounts
        .find_one(doc! {})
        .session(&mut session)
        .await
        .unwrap();
    let error = outside.try_next().await.unwrap_err();
    assert!(
        error.to_string().contains("not opened in the transaction"),
        "{error}"
    );
    outside.close().await;
    session.commit_transaction().await.unwrap();
    // The cursor was closed outside of the session.
    assert_eq!(bank.names(), "find find* killCursors commitTransaction");
}

#[tokio::test]
async fn a_cursor_takes_turns_with_actions() {
    let bank = filled().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    let mut cursor = bank
        .accounts
        .find(doc! {})
        .batch_size(2)
        .session(&mut tx)
        .await
        .unwrap();
    for _ in 0..2 {
        cursor.try_next().await.unwrap();
    }
    let document = doc! { "_id": 100 };
    let read = async {
        let mut count = 2;
        while cursor.try_next().await.unwrap().is_some() {
            count += 1;
        }
        count
    };
    let write = bank.accounts.insert_one(&document).session(&mut tx).into_future();
    let (count, written) = tokio::join!(read, write);
    written.unwrap();
    assert!((9..=10).contains(&count));
    tx.commit().await.unwrap();
    assert_eq!(bank.stored().await, 10);
}

/// The getMore of a stream that is not polled completes, and ends its turn.
#[tokio::test]
async fn a_stream_that_is_not_polled_does_not_block_its_transaction() {
    let bank = filled().await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    let find = bank.accounts.find(doc! {}).batch_size(2);
    let mut cursor = find.session(&mut tx).await.unwrap();
    for _ in 0..2 {
        cursor.next().await.unwrap().unwrap();
    }
    assert!(cursor.next().now_or_never().is_none(), "a getMore is running");
    let document = doc! { "_id": 100 };
    bank.accounts
        .insert_one(&document)
        .session(&mut tx)
        .await
        .unwrap();
    for _ in 0..2 {
        cursor.next().await.unwrap().unwrap();
    }
    assert!(cursor.next().now_or_never().is_none(), "a getMore is running");
    tx.commit().await.unwrap();
    assert_eq!(bank.stored().await, 10);
}

#[tokio::test]
async fn a_cursor_shares_the_connection_behind_a_load_balancer() {
    let server = TestServer::builder().load_balanced().start().await.unwrap();
    let bank = Bank::of(Deployment::of(server, "").await);
    fill(&bank).await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    let mut cursor = bank
        .accounts
        .find(doc! {})
        .batch_size(2)
        .session(&mut tx)
        .await
        .unwrap();
    assert!(pin(&tx).is_some());
    let mut count = 0;
    while cursor.try_next().await.unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 9);
    tx.commit().await.unwrap();
    drop(tx);
    assert_eq!(bank.deployment.server.violations().len(), 0);
}
