//! Discovery, selection and elections on a set of three members.

use std::sync::Arc;

use marula_driver::{
    Client,
    bson::{Document, doc},
    options::{ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::replica_set;

#[tokio::test]
async fn one_seed_leads_to_the_primary() {
    let deployment = replica_set().await;
    let primary = deployment.server.primary().expect("a primary");
    let secondary = deployment.server.addresses().into_iter().find(|a| *a != primary).expect("a secondary");
    let client = Client::connect(format!("mongodb://{secondary}/?replicaSet=rs0")).await.unwrap();
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 1);
}

#[tokio::test]
async fn secondaries_answer_reads_that_allow_it() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    for mode in [ReadPreferenceMode::Secondary, ReadPreferenceMode::SecondaryPreferred, ReadPreferenceMode::Nearest] {
        let reads = things.with_read_preference(ReadPreference::new(mode));
        assert_eq!(reads.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }), "{}", mode.as_str());
    }
}

#[tokio::test]
async fn a_direct_connection_reads_from_a_secondary_and_cannot_write_to_it() {
    let deployment = replica_set().await;
    deployment.client.database("d").collection::<Document>("c").insert_one(&doc! { "_id": 1 }).await.unwrap();
    let primary = deployment.server.primary().expect("a primary");
    let secondary = deployment.server.addresses().into_iter().find(|a| *a != primary).expect("a secondary");
    let client = Client::connect(format!("mongodb://{secondary}/?directConnection=true&retryWrites=false")).await.unwrap();
    let things = client.database("d").collection::<Document>("c");
    assert_eq!(things.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }));
    let error = things.insert_one(&doc! {}).await.expect_err("a secondary takes no writes");
    assert_eq!(error.code(), Some(10107), "{error}");
}

#[tokio::test]
async fn a_wrong_set_name_finds_nothing_and_says_so() {
    let deployment = replica_set().await;
    let address = deployment.server.addresses()[0];
    let client =
        Client::connect(format!("mongodb://{address}/?replicaSet=other&serverSelectionTimeoutMS=300")).await.unwrap();
    let error = client.list_database_names().await.expect_err("no such set");
    assert!(error.to_string().contains("other"), "{error}");
}

/// Writes go on through elections: each is either stored exactly once, or reported as failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_survive_elections() {
    let deployment = Arc::new(replica_set().await);
    let counters = deployment.collection::<Document>();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let counters = counters.clone();
            tokio::spawn(async move {
                let mut acknowledged = 0;
                for n in 0..25 {
                    let id = format!("{writer}-{n}");
                    if counters.insert_one(&doc! { "_id": id }).await.is_ok() {
                        acknowledged += 1;
                    }
                }
                acknowledged
            })
        })
        .collect();
    for round in 1..=3 {
        deployment.server.wait_for_command("insert", round * 20).await;
        deployment.server.step_down();
    }
    let mut acknowledged = 0;
    for writer in writers {
        acknowledged += writer.await.expect("no panic");
    }
    let stored = counters.count_documents(doc! {}).await.unwrap();
    assert!(stored >= acknowledged, "{acknowledged} writes were acknowledged, {stored} are there");
    assert_eq!(stored, 200, "with retryable writes no election is seen by the application");
}

#[tokio::test]
async fn a_killed_primary_is_replaced() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    let primary = deployment.server.primary().expect("a primary");
    let index = deployment.server.addresses().iter().position(|a| *a == primary).expect("a member");
    deployment.server.stop_member(index).await;
    things.insert_one(&doc! { "_id": 2 }).await.unwrap();
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 2);
    deployment.server.restart_member(index).await.expect("it starts again");
    assert_eq!(things.find_one(doc! { "_id": 2 }).await.unwrap(), Some(doc! { "_id": 2 }));
}
