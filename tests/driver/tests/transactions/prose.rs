//! The prose tests of the Transactions specification that need servers. Its test of pool cleared
//! errors is a unit test of the machine.

use std::{collections::BTreeSet, time::Duration};

use marula_driver::{
    ClientSession,
    bson::{Document, doc},
    event::{CommandEvent, ServerType},
    internals::wait_for_topology,
    options::WriteConcern,
};
use marula_driver_tests::Deployment;
use marula_test_server::TestServer;

use super::Bank;

/// A client of a cluster with two mongos, after one transaction on one of them.
async fn pinned() -> (Bank, ClientSession) {
    let server = TestServer::builder()
        .sharded()
        .start()
        .await
        .expect("a transaction on a mongos");
    let bank = Bank::with(Deployment::of(server, "").await, |options| {
        options.local_threshold = Duration::from_secs(1);
    });
    wait_for_topology(&bank.client, |topology| {
        let mongos = topology
            .servers()
            .filter(|server| server.server_type() == ServerType::Mongos);
        mongos.count() == 2
    })
    .await;
    bank.accounts
        .insert_one(&doc! {})
        .await
        .expect("a transaction on a mongos");
    let mut session = bank
        .client
        .start_session()
        .await
        .expect("a transaction on a mongos");
    session
        .start_transaction()
        .await
        .expect("a transaction on a mongos");
    bank.accounts
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .expect("a transaction on a mongos");
    session
        .commit_transaction()
        .await
        .expect("a transaction on a mongos");
    let _ = bank.commands.take();
    (bank, session)
}

/// The number of servers that received a `find`.
fn servers_of_finds(bank: &Bank) -> usize {
    let finds = bank.commands.take().into_iter().filter_map(|event| match event {
        CommandEvent::Started(event) if event.command_name == "find" => Some(event.connection.address),
        _ => None,
    });
    finds.collect::<BTreeSet<_>>().len()
}

#[tokio::test]
async fn transactions_prose_mongos_pinning_1() {
    let (bank, mut session) = pinned().await;
    for _ in 0..50 {
        session.start_transaction().await.unwrap();
        let mut found = bank.accounts.find(doc! {}).session(&mut session).await.unwrap();
        assert!(found.try_next().await.unwrap().is_some());
        session.commit_transaction().await.unwrap();
    }
    assert!(servers_of_finds(&bank) > 1);
}

#[tokio::test]
async fn transactions_prose_mongos_pinning_2() {
    let (bank, mut session) = pinned().await;
    for _ in 0..50 {
        let mut found = bank.accounts.find(doc! {}).session(&mut session).await.unwrap();
        assert!(found.try_next().await.unwrap().is_some());
    }
    assert!(servers_of_finds(&bank) > 1);
}

#[tokio::test]
async fn transactions_prose_options_inside_transaction() {
    let bank = Bank::open().await;
    bank.client
        .database("bank")
        .create_collection("accounts")
        .await
        .unwrap();
    let unacknowledged = bank.accounts.with_write_concern(WriteConcern::nodes(0));
    let mut session = bank.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let done = unacknowledged
        .insert_one(&doc! { "n": 1 })
        .session(&mut session)
        .await;
    done.unwrap();
    session.commit_transaction().await.unwrap();
    session.end().await;
    let stored: Option<Document> = bank.accounts.find_one(doc! { "n": 1 }).await.unwrap();
    assert!(stored.is_some());
}
