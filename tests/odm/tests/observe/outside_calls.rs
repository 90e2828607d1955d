//! The warning about a call that the body of a transaction makes without its session.

use marula::bson::Document;
use marula::prelude::*;
use marula::{Collection, Database, Error, outside_transaction};
use marula_driver_tests::Messages;
use marula_test_server::TestServer;
use tracing::Level;

use crate::models::{Account, account};

/// A replica set, its client, and the recorded warnings.
async fn replica_set() -> (TestServer, Database, Collection<Account>) {
    let server = TestServer::builder().replica_set().start().await;
    let server = server.expect("the test server starts");
    let client = marula::connect(server.uri())
        .await
        .expect("a valid connection string");
    let db = client.database("observed");
    let accounts = db.collection::<Account>();
    accounts.insert_one(&account(1)).await.expect("a reply");
    (server, db, accounts)
}

/// The fields of the warnings about calls outside of transactions.
fn warnings(messages: &Messages) -> Vec<Document> {
    let mut all = messages.take();
    all.retain(|message| message.target == "marula_driver::transaction");
    assert!(all.iter().all(|message| message.level == Level::WARN));
    all.into_iter().map(|message| message.fields).collect()
}

#[tokio::test]
async fn a_call_without_the_session_of_a_running_transaction_is_logged_once_for_each_run() {
    let (server, db, accounts) = replica_set().await;
    let (messages, guard) = Messages::listen(Level::WARN);
    let client = db.client();
    for run in 0..2 {
        client
            .transaction()
            .run(async |tx| {
                accounts.find_by_id(1).session(tx).required().await?;
                let forgotten = async {
                    accounts.update_by_id(1, |a| a.password().set("outside")).await?;
                    accounts.find_by_id(1).await
                };
                tokio::join!(forgotten, std::future::ready(())).0
            })
            .await
            .unwrap();
        let logged = warnings(&messages);
        let [logged] = &logged[..] else {
            panic!("run {run}: {logged:?}")
        };
        let field = |name: &str| logged.get_str(name).unwrap_or_default().to_owned();
        assert_eq!(field("message"), "Call outside of the running transaction");
        assert_eq!(field("operation"), "update");
        assert_eq!(field("databaseName"), "observed");
        assert_eq!(field("collectionName"), "accounts");
        let hint = field("hint");
        assert!(
            hint.contains("tx.bind(") && hint.contains("outside_transaction("),
            "{hint}"
        );
    }
    drop(guard);
    client.shutdown().await;
    drop(server);
}

#[tokio::test]
async fn calls_that_belong_to_the_transaction_or_are_meant_to_be_outside_are_not_logged() {
    let (server, db, accounts) = replica_set().await;
    let (messages, guard) = Messages::listen(Level::WARN);
    let client = db.client();
    let other = marula::connect(server.uri()).await.unwrap();
    let of_other = other.database("observed").collection::<Account>();
    client
        .transaction()
        .run(async |tx| {
            accounts.find_by_id(1).session(tx).await?;
            let bound = tx.bind(&accounts);
            bound.find_by_id(1).await?;
            bound.find_all().await?;
            client.bulk().on(&bound, |b| b.delete_by_id(9)).await?;
            of_other.find_by_id(1).await?;
            outside_transaction(accounts.find_by_id(1)).await?;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    // No body of a transaction is running.
    accounts.find_by_id(1).await.unwrap();
    let mut tx = client.start_transaction().await.unwrap();
    accounts.find_by_id(1).session(&mut tx).await.unwrap();
    accounts.find_by_id(1).await.unwrap();
    tx.abort().await.unwrap();
    assert_eq!(warnings(&messages), []);
    drop(guard);
    other.shutdown().await;
    client.shutdown().await;
    drop(server);
}
