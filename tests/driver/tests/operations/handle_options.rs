//! Inconsistent options of handles, and the messages of server selection timeouts.

use std::time::Duration;

use marula_driver::{
    Client, Error, ErrorKind, WriteModel,
    bson::{Document, doc},
    internals::wait_for_description,
    options::{ClientOptions, ReadPreference, TagSet, WriteConcern},
};
use marula_driver_tests::{ClosedPort, any_deployment, replica_set, standalone};

/// The error of a command to a client that finds no server.
async fn ping_error(client: &Client) -> Error {
    let database = client.database("d");
    database
        .run_command(doc! { "ping": 1 })
        .await
        .expect_err("the command is refused")
}

#[tokio::test]
async fn an_inconsistent_write_concern_is_rejected_before_a_command_is_sent() {
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

/// A bulk write is acknowledged as its write concern says, or else that of its handle, which does not
/// apply in a transaction.
#[tokio::test]
async fn bulk_writes_state_whether_they_are_acknowledged() {
    let deployment = replica_set().await;
    let database = deployment.client.database("d");
    let things = database.collection::<Document>("things");
    let silent = things.with_write_concern(WriteConcern::nodes(0));
    let model = || [WriteModel::insert_one(&doc! { "_id": 1 })];
    assert!(things.bulk_write(model()).is_acknowledged());
    assert!(!silent.bulk_write(model()).is_acknowledged());
    let own = |nodes| {
        silent
            .bulk_write(model())
            .write_concern(WriteConcern::nodes(nodes))
    };
    assert!(own(1).is_acknowledged() && !own(0).is_acknowledged());
    let mut options = ClientOptions::parse(&deployment.server.uri()).expect("a connection string");
    options.write_concern = WriteConcern::nodes(0);
    let client = Client::with_options(options).expect("a client");
    let models = || [things.insert_one_model(&doc! { "_id": 1 })];
    assert!(deployment.client.bulk_write(models()).is_acknowledged());
    assert!(!client.bulk_write(models()).is_acknowledged());
    let own = client
        .bulk_write(models())
        .write_concern(WriteConcern::majority());
    assert!(own.is_acknowledged());

    let mut session = deployment.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    assert!(silent.bulk_write(model()).session(&mut session).is_acknowledged());
    let mut other = client.start_session().await.unwrap();
    let transaction = other.start_transaction();
    transaction.write_concern(WriteConcern::majority()).await.unwrap();
    assert!(client.bulk_write(models()).session(&mut other).is_acknowledged());
    client.shutdown().await;
}

#[tokio::test]
async fn an_inconsistent_read_preference_is_rejected_on_every_deployment() {
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
async fn a_server_selection_error_names_the_cause_once() {
    let closed = ClosedPort::new();
    let address = closed.address();
    let client = Client::connect(format!("mongodb://{address}/?serverSelectionTimeoutMS=50"))
        .await
        .unwrap();
    wait_for_description(&client, |text| text.contains("refused")).await;
    let error = ping_error(&client).await;
    let text = error.to_string();
    assert!(error.is_unavailable() && error.is_timeout(), "{text}");
    assert!(text.contains("refused"), "{text}");
    assert_eq!(text.matches(&address.to_string()).count(), 1, "{text}");
    assert!(
        !text.contains("RetryableError"),
        "labels are not part of the text: {text}"
    );
}

#[tokio::test]
async fn a_server_without_a_completed_check_is_reported_as_without_answer() {
    // The operating system accepts connections; nothing is sent on them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for options in ["", "&tls=true&tlsInsecure=true"] {
        let client = Client::connect(format!(
            "mongodb://{address}/?serverSelectionTimeoutMS=100{options}"
        ))
        .await
        .unwrap();
        let error = ping_error(&client).await;
        let text = error.to_string();
        assert!(
            text.contains(&format!("{address} (Unknown, no answer so far)")),
            "{text}"
        );
        client.shutdown().await;
    }
}

#[tokio::test]
async fn a_server_selection_error_names_the_cause_of_each_server() {
    // Both listeners exist until both ports are known, so that the ports differ.
    let [first, second] = ["127.0.0.1:0"; 2].map(|any| std::net::TcpListener::bind(any).unwrap());
    let uri = format!(
        "mongodb://{},{}/?serverSelectionTimeoutMS=100",
        first.local_addr().unwrap(),
        second.local_addr().unwrap()
    );
    drop((first, second));
    let client = Client::connect(uri).await.unwrap();
    wait_for_description(&client, |text| text.matches("(Unknown: ").count() == 2).await;
    let error = ping_error(&client).await;
    let text = error.to_string();
    assert_eq!(text.matches("(Unknown: connection refused)").count(), 2, "{text}");
}

#[tokio::test]
async fn a_wrong_set_name_is_named_in_the_error() {
    let deployment = replica_set().await;
    let address = deployment.server.addresses()[0];
    let mut options = ClientOptions::parse(&format!("mongodb://{address}/?replicaSet=other")).unwrap();
    options.server_selection_timeout = Duration::from_millis(50);
    let client = Client::with_options(options).unwrap();
    wait_for_description(&client, |text| text.contains("check the hosts")).await;
    let error = ping_error(&client).await;
    let text = error.to_string();
    assert!(
        text.contains("\"other\"") && text.contains("check the hosts and replicaSet"),
        "{text}"
    );
}

#[tokio::test]
async fn database_names_can_be_listed_with_authorized_databases() {
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
