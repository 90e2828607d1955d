//! The option `requires`: an operation that needs a newer server fails before it is sent.

use marula_driver::{
    Client, Error, ErrorKind, WriteModel,
    bson::{Bson, Document, doc},
    options::{FullDocument, ServerRequirement},
};
use marula_driver_tests::{CommandRecorder, recorded, replica_set};
use marula_test_server::TestServer;

#[tokio::test]
async fn no_operation_is_sent_to_a_server_without_the_required_feature() {
    let tested = recorded(replica_set().await, "");
    let things = tested.things();
    let (database, client) = (things.database(), things.database().client());
    things.insert_one(&doc! { "a": 1 }).await.expect("stored");
    let _ = tested.commands.take();
    let (filter, update) = (|| doc! { "a": 1 }, || doc! { "$set": { "b": 1 } });
    let pipeline = || [doc! { "$match": { "a": 1 } }];
    let requirement = || ServerRequirement::new(99, 0, "the feature");

    macro_rules! outcomes {
        ($($action:expr),* $(,)?) => {
            vec![$((stringify!($action), $action.requires(requirement()).await.map(drop)),)*]
        };
    }
    macro_rules! explained {
        ($($action:expr),* $(,)?) => {
            vec![$((stringify!($action), $action.requires(requirement()).explain().await.map(drop)),)*]
        };
    }
    let executed: Vec<(&str, Result<(), Error>)> = outcomes![
        things.find(filter()),
        things.find_one(filter()),
        things.count_documents(filter()),
        things.estimated_document_count(),
        things.distinct("a", filter()),
        things.aggregate(pipeline()),
        database.aggregate([doc! { "$currentOp": {} }]),
        things.insert_one(&doc! {}),
        things.insert_many(&[doc! {}]),
        things.update_one(filter(), update()),
        things.update_many(filter(), update()),
        things.replace_one(filter(), &doc! {}),
        things.delete_one(filter()),
        things.delete_many(filter()),
        things.find_one_and_update(filter(), update()),
        things.find_one_and_replace(filter(), &doc! {}),
        things.find_one_and_delete(filter()),
        things.bulk_write([WriteModel::delete_one(filter())]),
        things.watch(),
        database.watch(),
        client.watch(),
    ];
    let explained: Vec<(&str, Result<(), Error>)> = explained![
        things.find(filter()),
        things.find_one(filter()),
        things.count_documents(filter()),
        things.estimated_document_count(),
        things.distinct("a", filter()),
        things.aggregate(pipeline()),
        things.update_one(filter(), update()),
        things.update_many(filter(), update()),
        things.replace_one(filter(), &doc! {}),
        things.delete_one(filter()),
        things.delete_many(filter()),
        things.find_one_and_update(filter(), update()),
        things.find_one_and_replace(filter(), &doc! {}),
        things.find_one_and_delete(filter()),
    ];
    for (action, outcome) in executed.into_iter().chain(explained) {
        let error = outcome.expect_err(action);
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported(_)),
            "{action}: {error:?}"
        );
        let text = error.to_string();
        assert!(
            text.contains("the feature requires MongoDB 99.0"),
            "{action}: {text}"
        );
    }
    let sent = tested.commands.take();
    assert!(sent.is_empty(), "{sent:?}");
}

/// A client of a replica set of this version, and its commands.
async fn old_replica_set(version: &str) -> (TestServer, Client, CommandRecorder) {
    let server = TestServer::builder().replica_set().version(version).start();
    let server = server.await.expect("a server");
    let commands = CommandRecorder::default();
    let client = commands.client_of(&server.uri());
    (server, client, commands)
}

/// The versions that the lists of options state, which the driver leaves to the server and the ODM
/// requires.
#[tokio::test]
async fn the_values_of_options_state_the_versions_that_they_need() {
    let (_server, client, commands) = old_replica_set("4.2").await;
    let things = client.database("d").collection::<Document>("c");
    let text = || Bson::from("why");
    let number = || Bson::from(7);

    macro_rules! outcomes {
        ($($action:expr),* $(,)?) => {
            vec![$((stringify!($action), $action.__require_versions().await.map(drop).err()),)*]
        };
    }
    let refused: Vec<(&str, Option<Error>)> = outcomes![
        things.find(doc! {}).comment(number()),
        things.find_one(doc! {}).comment(number()),
        things.count_documents(doc! {}).comment(number()),
        things.aggregate([doc! { "$match": {} }]).comment(number()),
        things.watch().comment(number()),
        things.distinct("a", doc! {}).comment(text()),
        things.estimated_document_count().comment(text()),
    ];
    for (action, error) in refused {
        let error = error.expect(action);
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported(_)),
            "{action}: {error:?}"
        );
        assert!(
            error.to_string().contains("requires MongoDB 4.4"),
            "{action}: {error}"
        );
    }
    let sent = commands.take();
    assert!(sent.is_empty(), "{sent:?}");
    let accepted: Vec<(&str, Option<Error>)> = outcomes![
        things.find(doc! {}).comment(text()),
        things.count_documents(doc! {}).comment(text()),
        things.aggregate([doc! { "$match": {} }]).comment(text()),
        things.watch().comment(text()),
        things.distinct("a", doc! {}),
        things.estimated_document_count(),
    ];
    for (action, error) in accepted {
        assert!(error.is_none(), "{action}: {error:?}");
    }
}

#[tokio::test]
async fn post_images_need_a_version() {
    let (_server, client, commands) = old_replica_set("5.0").await;
    let things = client.database("d").collection::<Document>("c");
    for value in [FullDocument::WhenAvailable, FullDocument::Required] {
        let stream = things.watch().full_document(value).__require_versions();
        let error = stream.await.expect_err("too old");
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("the value of `full_document` requires MongoDB 6.0"),
            "{error}"
        );
    }
    assert!(commands.take().is_empty());
    let stream = things.watch().full_document(FullDocument::UpdateLookup);
    stream.__require_versions().await.expect("a stream");
}
