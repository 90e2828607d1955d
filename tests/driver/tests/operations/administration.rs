//! Commands, databases, collections and indexes.

use std::time::Duration;

use marula_driver::{
    IndexModel,
    bson::{Document, doc},
};
use marula_driver_tests::{any_deployment, standalone};

#[tokio::test]
async fn any_command_can_be_run() {
    let deployment = any_deployment().await;
    let admin = deployment.client.database("admin");
    assert_eq!(
        admin
            .run_command(doc! { "ping": 1 })
            .await
            .unwrap()
            .get_f64("ok")
            .unwrap(),
        1.0
    );
    let error = admin
        .run_command(doc! { "noSuchCommand": 1 })
        .await
        .expect_err("no such command");
    assert_eq!(
        (error.code(), error.code_name()),
        (Some(59), Some("CommandNotFound"))
    );
    assert!(error.to_string().contains("CommandNotFound"), "{error}");
    assert!(admin.run_command(doc! {}).await.is_err());
}

/// The server keeps the comment for each getMore (Enumerating Collections, "comment").
#[tokio::test]
async fn the_comment_of_list_collections_is_not_sent_again() {
    let recorded = marula_driver_tests::recorded(marula_driver_tests::replica_set().await, "");
    let database = recorded.things().database().clone();
    for name in ["a", "b", "c"] {
        database.create_collection(name).await.unwrap();
    }
    let _ = recorded.commands.commands();
    let list = database.list_collections().comment("why").batch_size(1);
    assert_eq!(list.await.unwrap().try_collect().await.unwrap().len(), 3);
    let comments: Vec<(bool, bool)> = recorded
        .commands
        .commands()
        .iter()
        .map(|command| (command.contains_key("getMore"), command.contains_key("comment")))
        .collect();
    assert_eq!(comments[0], (false, true));
    assert!(
        comments.len() > 1 && comments[1..].iter().all(|sent| *sent == (true, false)),
        "{comments:?}"
    );
}

#[tokio::test]
async fn collections_and_databases_are_created_listed_and_dropped() {
    let deployment = any_deployment().await;
    let database = deployment.database();
    database.create_collection("plain").await.unwrap();
    database
        .collection::<Document>("made")
        .insert_one(&doc! { "x": 1 })
        .await
        .unwrap();
    let mut names = database.list_collection_names().await.unwrap();
    names.sort();
    assert_eq!(names, ["made", "plain"]);
    let listed = database
        .list_collections()
        .filter(doc! { "name": "made" })
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!((listed.len(), listed[0].kind.as_str()), (1, "collection"));
    assert!(
        deployment
            .client
            .list_database_names()
            .await
            .unwrap()
            .contains(&database.name().to_owned())
    );
    let sizes = deployment
        .client
        .list_databases()
        .filter(doc! { "name": database.name() })
        .await
        .unwrap();
    assert_eq!(sizes.len(), 1);
    database.collection::<Document>("made").drop().await.unwrap();
    database
        .collection::<Document>("never existed")
        .drop()
        .await
        .unwrap();
    assert_eq!(database.list_collection_names().await.unwrap(), ["plain"]);
    database.drop().await.unwrap();
    assert!(database.list_collection_names().await.unwrap().is_empty());
}

#[tokio::test]
async fn options_of_indexes_that_the_driver_does_not_know_are_sent() {
    let deployment = standalone().await;
    let things = deployment.collection::<Document>();
    let model = IndexModel::new(doc! { "email": 1 }).other("prepareUnique", true);
    assert_eq!(things.create_index(model).await.unwrap(), "email_1");
    let listed = things.list_indexes().with_type::<Document>().await.unwrap();
    let listed: Vec<Document> = listed.try_collect().await.unwrap();
    let prepared = |index: &Document| index.get_bool("prepareUnique").unwrap_or(false);
    assert_eq!(
        listed.iter().filter(|index| prepared(index)).count(),
        1,
        "{listed:?}"
    );
}

#[tokio::test]
async fn a_client_describes_its_servers() {
    let deployment = standalone().await;
    let things = deployment.collection::<Document>();
    let client = things.database().client();
    assert!(client.server_api().is_none());
    things.database().run_command(doc! { "ping": 1 }).await.unwrap();
    let topology = client.topology_description();
    let versions: Vec<_> = topology
        .servers()
        .map(marula_driver::event::ServerDescription::max_wire_version)
        .collect();
    assert!(
        matches!(versions[..], [Some(version)] if version > 0),
        "{versions:?}"
    );
}

#[tokio::test]
async fn indexes_are_created_listed_enforced_and_dropped() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    assert_eq!(
        things.list_index_names().await.unwrap(),
        Vec::<String>::new(),
        "a missing collection has no indexes"
    );
    let name = things
        .create_index(IndexModel::new(doc! { "email": 1 }).unique(true))
        .await
        .unwrap();
    assert_eq!(name, "email_1");
    let names = things
        .create_indexes([
            IndexModel::new(doc! { "a": 1, "b": -1 }),
            IndexModel::new(doc! { "at": 1 })
                .expire_after(Duration::from_secs(60))
                .name("ttl"),
        ])
        .await
        .unwrap();
    assert_eq!(names, ["a_1_b_-1", "ttl"]);
    let indexes = things.list_indexes().await.unwrap().try_collect().await.unwrap();
    let ttl = indexes
        .iter()
        .find(|index| index.index_name() == "ttl")
        .expect("the TTL index");
    assert_eq!(ttl.options.expire_after, Some(Duration::from_secs(60)));
    assert_eq!(ttl.keys, doc! { "at": 1 });
    things.insert_one(&doc! { "email": "a@b" }).await.unwrap();
    assert!(
        things
            .insert_one(&doc! { "email": "a@b" })
            .await
            .expect_err("taken")
            .is_duplicate_key()
    );
    let conflict = things
        .create_index(IndexModel::new(doc! { "email": 1 }))
        .await
        .expect_err("other options");
    assert!(matches!(conflict.code(), Some(85 | 86)), "{conflict}");
    things.drop_index("ttl").await.unwrap();
    assert_eq!(things.drop_index("ttl").await.expect_err("gone").code(), Some(27));
    things.drop_indexes().await.unwrap();
    assert_eq!(things.list_index_names().await.unwrap(), ["_id_"]);
}

#[tokio::test]
async fn the_database_of_the_connection_string_is_the_default() {
    let deployment = standalone().await;
    assert!(deployment.client.default_database().is_none());
    let address = deployment.server.addresses()[0];
    let client = marula_driver::Client::connect(format!("mongodb://{address}/shop"))
        .await
        .unwrap();
    assert_eq!(
        client.default_database().expect("a default database").name(),
        "shop"
    );
}

#[tokio::test]
async fn operations_after_shutdown_fail() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! {}).await.unwrap();
    deployment.client.shutdown().await;
    let error = things
        .find_one(doc! {})
        .await
        .expect_err("the client was shut down");
    assert!(
        matches!(
            error.kind(),
            marula_driver::ErrorKind::Shutdown | marula_driver::ErrorKind::Pool(_)
        ),
        "{error}"
    );
    if let Some(server) = deployment.in_process("the number of open connections") {
        server.wait_for_open_connections(0).await;
    }
}

#[tokio::test]
async fn dropping_the_last_handle_closes_every_connection() {
    let deployment = standalone().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! {}).await.unwrap();
    let marula_driver_tests::Deployment { server, client } = deployment;
    drop((client, things));
    server.wait_for_open_connections(0).await;
}
