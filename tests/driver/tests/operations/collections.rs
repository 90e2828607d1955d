//! `collMod`, commands that open cursors, search indexes, and options that depend on the server
//! version.

use std::sync::{Arc, Mutex};

use marula_driver::{
    Client, SearchIndexModel,
    bson::{Document, doc},
    event::{CommandEvent, EventListener},
    options::ClientOptions,
};
use marula_driver_tests::any_deployment;
use marula_test_server::TestServer;

/// A server of this version, a client, and the commands that the client sends.
async fn recorded_client(version: &str) -> (TestServer, Client, Arc<Mutex<Vec<Document>>>) {
    let server = TestServer::builder()
        .version(version)
        .start()
        .await
        .expect("the server starts");
    let commands = Arc::new(Mutex::new(Vec::new()));
    let mut options = ClientOptions::parse(&server.uri()).expect("the server's connection string");
    let received = Arc::clone(&commands);
    options.command_listener = Some(EventListener::new(move |event| {
        if let CommandEvent::Started(started) = event {
            let command =
                marula_driver::bson::decode_document(started.command.as_bytes()).expect("a command");
            received.lock().expect("no test panics with it").push(command);
        }
    }));
    (server, Client::with_options(options).expect("a client"), commands)
}

#[tokio::test]
async fn a_collection_is_modified_and_renamed() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! { "_id": 1, "n": 1 }).await.unwrap();
    let database = things.database().clone();
    database
        .modify_collection(things.name())
        .validator(doc! { "n": { "$lt": 5 } })
        .await
        .unwrap();
    let refused = things.insert_one(&doc! { "n": 7 }).await.unwrap_err();
    assert_eq!(refused.code(), Some(121));
    let missing = database
        .modify_collection("nothing")
        .validator(doc! {})
        .await
        .unwrap_err();
    assert_eq!(missing.code(), Some(26));
    database
        .collection::<Document>("other")
        .insert_one(&doc! {})
        .await
        .unwrap();
    let taken = things.rename("other").await.unwrap_err();
    assert_eq!(taken.code(), Some(48));
    things.rename("other").drop_target(true).await.unwrap();
    let renamed = database.collection::<Document>("other");
    assert_eq!(
        renamed.find(doc! {}).await.unwrap().try_collect().await.unwrap(),
        [doc! { "_id": 1, "n": 1 }]
    );
}

#[tokio::test]
async fn run_cursor_command_reads_all_batches() {
    let (_server, client, commands) = recorded_client("8.2").await;
    let database = client.database("test");
    let documents: Vec<Document> = (0..5).map(|id| doc! { "_id": id }).collect();
    database.collection("c").insert_many(&documents).await.unwrap();
    let cursor = database
        .run_cursor_command(doc! { "find": "c", "batchSize": 2, "sort": { "_id": 1 } })
        .batch_size(3)
        .comment("why")
        .await
        .unwrap();
    assert_eq!(cursor.try_collect().await.unwrap(), documents);
    let sent = commands.lock().unwrap().clone();
    let more: Vec<&Document> = sent
        .iter()
        .filter(|command| command.contains_key("getMore"))
        .collect();
    assert_eq!(more[0].get_i64("batchSize").unwrap(), 3);
    assert_eq!(more[0].get_str("comment").unwrap(), "why");
    let find = sent
        .iter()
        .find(|command| command.contains_key("find"))
        .expect("the command");
    assert_eq!(
        find.get("lsid"),
        more[0].get("lsid"),
        "getMore uses the same session"
    );
    let no_cursor = database.run_cursor_command(doc! { "ping": 1 }).await.unwrap_err();
    assert!(no_cursor.to_string().contains("cursor"), "{no_cursor}");
}

#[tokio::test]
async fn close_kills_the_cursor_before_it_returns() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let documents: Vec<Document> = (0..5).map(|id| doc! { "_id": id }).collect();
    things.insert_many(&documents).await.unwrap();
    let cursor = things.find(doc! {}).batch_size(2).await.unwrap();
    cursor.close().await;
    let Some(server) = deployment.in_process("killCursors") else {
        return;
    };
    assert_eq!(server.commands_seen("killCursors"), 1);
    let exhausted = things.find(doc! {}).await.unwrap();
    exhausted.close().await;
    assert_eq!(server.commands_seen("killCursors"), 1);
}

#[tokio::test]
async fn search_index_commands_are_sent_to_the_server() {
    let (_server, client, commands) = recorded_client("8.2").await;
    let things = client.database("test").collection::<Document>("c");
    let model = SearchIndexModel::new(doc! { "mappings": { "dynamic": true } })
        .name("i")
        .kind("search");
    // Only deployments with a search service support them.
    assert!(things.create_search_index(model).await.is_err());
    assert!(
        things
            .update_search_index("i", doc! { "mappings": {} })
            .await
            .is_err()
    );
    assert!(things.drop_search_index("i").await.is_err());
    assert!(things.list_search_indexes(Some("i")).await.is_err());
    let sent = commands.lock().unwrap().clone();
    assert_eq!(
        sent[0].get_array("indexes").unwrap()[0].as_document(),
        Some(&doc! { "definition": { "mappings": { "dynamic": true } }, "name": "i", "type": "search" })
    );
    assert_eq!(sent[1].get_str("updateSearchIndex").unwrap(), "c");
    assert_eq!(sent[2].get_str("name").unwrap(), "i");
    assert_eq!(
        sent[3].get_array("pipeline").unwrap()[0].as_document(),
        Some(&doc! { "$listSearchIndexes": { "name": "i" } })
    );
}

/// Find, getMore and killCursors Commands, "Mapping OP_QUERY behavior".
#[tokio::test]
async fn a_batch_size_of_zero_is_not_sent() {
    let (_server, client, commands) = recorded_client("8.2").await;
    let things = client.database("test").collection::<Document>("c");
    for (size, sent) in [(0, None), (7, Some(7))] {
        things.find(doc! {}).batch_size(size).await.unwrap();
        let find = commands.lock().unwrap().pop().expect("a command");
        assert_eq!(find.get_i64("batchSize").ok(), sent);
    }
}

/// Run Command: the command is not inspected.
#[tokio::test]
async fn commands_are_sent_with_fields_that_the_driver_adds() {
    let (_server, client, commands) = recorded_client("8.2").await;
    let preference = doc! { "mode": "nearest" };
    let ping = doc! { "ping": 1, "$readPreference": preference.clone() };
    client.database("test").run_command(ping).await.unwrap();
    let ping = commands.lock().unwrap().pop().expect("a command");
    assert_eq!(ping.get_document("$readPreference").unwrap(), &preference);
}

#[tokio::test]
async fn raw_data_is_sent_only_to_servers_that_support_it() {
    for (version, supported) in [("8.2", true), ("8.0", false)] {
        let (_server, client, commands) = recorded_client(version).await;
        let things = client.database("test").collection::<Document>("c");
        things.find(doc! {}).raw_data(true).await.unwrap();
        things.count_documents(doc! {}).raw_data(true).await.unwrap();
        things.delete_many(doc! {}).raw_data(true).await.unwrap();
        things.find(doc! {}).await.unwrap();
        let sent: Vec<bool> = commands
            .lock()
            .unwrap()
            .iter()
            .map(|command| command.contains_key("rawData"))
            .collect();
        assert_eq!(sent, [supported, supported, supported, false]);
    }
}
