//! Contradicting options of handles, and the message of a server selection timeout.

use std::time::Duration;

use marula_driver::{
    Client, ErrorKind,
    bson::{Document, doc},
    internals::wait_for_description,
    options::{ClientOptions, ReadPreference, TagSet, WriteConcern},
};
use marula_driver_tests::{any_deployment, replica_set, standalone};

#[tokio::test]
async fn a_write_concern_that_contradicts_itself_is_refused_before_it_is_sent() {
    let deployment = any_deployment().await;
    let mut concern = WriteConcern::nodes(0);
    concern.journal = Some(true);
    let things = deployment.collection::<Document>().with_write_concern(concern);
    let error = things.insert_one(&doc! {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
    if let Some(server) = deployment.in_process("the number of commands") {
        assert_eq!(server.commands_seen("insert"), 0);
    }
}

#[tokio::test]
async fn a_read_preference_that_contradicts_itself_is_refused_on_every_deployment() {
    for deployment in [standalone().await, replica_set().await] {
        deployment
            .client
            .database("admin")
            .run_command(doc! { "ping": 1 })
            .await
            .unwrap();
        let tags = TagSet::from([("dc".to_owned(), "ny".to_owned())]);
        let preference = ReadPreference::primary().with_tag_sets(vec![tags]);
        let things = deployment
            .collection::<Document>()
            .with_read_preference(preference);
        let error = things.find_one(doc! {}).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
    }
}

#[tokio::test]
async fn the_text_of_a_failed_selection_says_why_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let client = Client::connect(format!("mongodb://{free}/?serverSelectionTimeoutMS=200"))
        .await
        .unwrap();
    let error = client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(error.is_unavailable() && error.is_timeout(), "{text}");
    assert!(text.contains("refused"), "{text}");
    assert_eq!(text.matches(&free.to_string()).count(), 1, "{text}");
    assert!(
        !text.contains("RetryableError"),
        "labels are for programs: {text}"
    );
}

#[tokio::test]
async fn a_server_whose_first_check_has_not_ended_has_not_answered() {
    // Connections are accepted by the operating system; nothing is ever sent on them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for options in ["", "&tls=true&tlsInsecure=true"] {
        let client = Client::connect(format!(
            "mongodb://{address}/?serverSelectionTimeoutMS=100{options}"
        ))
        .await
        .unwrap();
        let database = client.database("d");
        let error = database.run_command(doc! { "ping": 1 }).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("{address} (Unknown, no answer so far)")),
            "{text}"
        );
        client.shutdown().await;
    }
}

#[tokio::test]
async fn the_causes_of_several_servers_have_one_form() {
    // Both are open until both ports are known, so that they differ.
    let [first, second] = ["127.0.0.1:0"; 2].map(|any| std::net::TcpListener::bind(any).unwrap());
    let uri = format!(
        "mongodb://{},{}/?serverSelectionTimeoutMS=100",
        first.local_addr().unwrap(),
        second.local_addr().unwrap()
    );
    drop((first, second));
    let client = Client::connect(uri).await.unwrap();
    wait_for_description(&client, |text| text.matches("(Unknown: ").count() == 2).await;
    let database = client.database("d");
    let error = database.run_command(doc! { "ping": 1 }).await.unwrap_err();
    let text = error.to_string();
    assert_eq!(text.matches("(Unknown: connection refused)").count(), 2, "{text}");
}

#[tokio::test]
async fn a_wrong_set_name_is_hinted_at() {
    let deployment = replica_set().await;
    let address = deployment.server.addresses()[0];
    let mut options = ClientOptions::parse(&format!("mongodb://{address}/?replicaSet=other")).unwrap();
    options.server_selection_timeout = Duration::from_millis(200);
    let client = Client::with_options(options).unwrap();
    let error = client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("\"other\"") && text.contains("check the hosts and replicaSet"),
        "{text}"
    );
}

#[tokio::test]
async fn names_can_be_listed_by_users_who_may_not_list_all() {
    let deployment = any_deployment().await;
    let database = deployment.database();
    database.create_collection("mine").await.unwrap();
    let names = database
        .list_collection_names()
        .authorized_collections(true)
        .await
        .unwrap();
    assert_eq!(names, ["mine"]);
}
