//! Operations of one and of several commands.

use marula_driver::{
    Client, Collection, ErrorKind, TimeoutSource, WriteModel,
    bson::{Binary, Bson, Document, doc, spec::BinarySubtype},
};
use marula_driver_tests::{Answer, ScriptedServer, recorded, replica_set, standalone};

use super::{BLOCKED_MS, block, names, timeout_of, times_out};

#[tokio::test]
async fn client_side_operations_timeout_prose_2() {
    let server = ScriptedServer::start(doc! { "iscryptd": true }, |_| Answer::Success).await;
    let client = Client::connect(server.uri("timeoutMS=60000")).await.unwrap();
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.unwrap();
    let sent = server.wait_for("ping", 1).await;
    assert!(!sent[0].command.contains_key("maxTimeMS"), "{:?}", sent[0]);

    let server = ScriptedServer::start(doc! {}, |_| Answer::Success).await;
    let client = Client::connect(server.uri("timeoutMS=60000")).await.unwrap();
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.unwrap();
    let sent = server.wait_for("ping", 1).await;
    assert!(sent[0].command.contains_key("maxTimeMS"), "{:?}", sent[0]);
}

#[tokio::test]
async fn the_error_names_the_operation_and_its_namespace() {
    let tested = recorded(standalone().await, "timeoutMS=1000");
    block(
        &tested.deployment.client,
        &["count", "dropDatabase"],
        2,
        BLOCKED_MS,
        "",
    )
    .await;
    let things = tested.things();
    // Connects.
    let find = things.find_one(doc! {}).timeout(std::time::Duration::ZERO);
    find.await.expect("a reply");
    let error = times_out(things.estimated_document_count().into_future()).await;
    let timeout = timeout_of(&error);
    assert_eq!(error.operation(), Some("count"));
    assert_eq!(error.namespace().as_ref(), Some(things.namespace()));
    assert!(!timeout.is_of_transaction());
    let expected = "the time limit of the operation expired (set by timeoutMS of the client): ";
    assert!(error.to_string().starts_with(expected), "{error}");
    let named = format!("(count on {}", things.namespace());
    assert_eq!(error.to_string().matches(&named).count(), 1, "{error}");

    let database = things.database();
    let error = times_out(database.drop().into_future()).await;
    let expected = format!("(dropDatabase on {}", database.name());
    assert!(error.to_string().contains(&expected), "{error}");
}

/// The time limit of an operation replaces that of its collection, which replaces that of its
/// database, which replaces that of the client.
#[tokio::test]
async fn the_time_limit_closest_to_the_operation_applies() {
    let tested = recorded(standalone().await, "timeoutMS=60000");
    let limit_ms = |commands: &[Document]| {
        let sent = commands[0].get_i64("maxTimeMS");
        sent.expect("a time limit on the server")
    };
    let seconds = std::time::Duration::from_secs;
    let things = tested.things();
    let database = things.database().with_timeout(seconds(600));
    let of_database = database.collection::<Document>("things");
    let of_collection = of_database.with_timeout(seconds(6_000));
    for (collection, own, expected) in [
        (&things, None, 0..=60_000),
        (&of_database, None, 60_001..=600_000),
        (&of_collection, None, 600_001..=6_000_000),
        (&of_collection, Some(seconds(60_000)), 6_000_001..=60_000_000),
    ] {
        let find = collection.find_one(doc! {});
        let find = match own {
            Some(own) => find.timeout(own),
            None => find,
        };
        find.await.unwrap();
        let limit = limit_ms(&tested.commands.commands());
        assert!(expected.contains(&limit), "{limit} is not in {expected:?}");
    }
    let unlimited = std::time::Duration::ZERO;
    things.find_one(doc! {}).timeout(unlimited).await.unwrap();
    assert!(!tested.commands.only_command().contains_key("maxTimeMS"));
}

/// The error names the setting to change.
#[tokio::test]
async fn the_error_names_the_setting_of_the_time_limit() {
    let short = std::time::Duration::from_millis(50);
    let tested = recorded(standalone().await, "timeoutMS=50");
    block(&tested.deployment.client, &["count", "find"], 0, BLOCKED_MS, "").await;
    let of_client = tested.things();
    let database = of_client.database().with_timeout(short);
    let of_database = database.collection::<Document>("things");
    let of_collection = of_database.with_timeout(short);
    let unlimited = of_collection.with_timeout(std::time::Duration::ZERO);
    let bucket = database.gridfs_bucket();
    let file = || bucket.open_download_stream("file");
    let count = Collection::estimated_document_count;
    for (error, expected) in [
        (
            times_out(count(&of_client).into_future()).await,
            TimeoutSource::Client,
        ),
        (
            times_out(count(&of_database).into_future()).await,
            TimeoutSource::Database,
        ),
        (
            times_out(count(&of_collection).into_future()).await,
            TimeoutSource::Collection,
        ),
        (
            times_out(count(&unlimited).timeout(short).into_future()).await,
            TimeoutSource::Operation,
        ),
        (times_out(file().into_future()).await, TimeoutSource::GridFs),
        (
            times_out(file().timeout(short).into_future()).await,
            TimeoutSource::GridFs,
        ),
    ] {
        assert_eq!(timeout_of(&error).set_by(), Some(expected), "{error}");
        assert!(
            error.to_string().contains(&format!("set by {expected}")),
            "{error}"
        );
    }
}

/// `MaxTimeMSExpired` as the error of the write concern: the writes were performed.
#[tokio::test]
async fn the_counts_of_a_bulk_write_whose_write_concern_timed_out_are_not_lost() {
    let tested = recorded(replica_set().await, "timeoutMS=60000");
    let concern =
        doc! { "code": 50, "codeName": "MaxTimeMSExpired", "errmsg": "operation exceeded time limit" };
    let data = doc! { "failCommands": ["insert", "update"], "writeConcernError": concern };
    let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": 2 }, "data": data };
    let admin = tested.deployment.client.database("admin");
    admin.run_command(point).await.unwrap();
    let writes = [
        WriteModel::insert_one(&doc! { "_id": 1 }),
        WriteModel::update_one(doc! { "_id": 1 }, doc! { "$set": { "a": 1 } }),
        WriteModel::delete_one(doc! { "_id": 1 }),
    ];
    let error = tested.things().bulk_write(writes).await.unwrap_err();
    assert_eq!(error.operation(), Some("insert"));
    let Some(ErrorKind::BulkWrite(bulk)) = timeout_of(&error).cause().map(marula_driver::Error::kind) else {
        panic!("{error:?}");
    };
    assert!(bulk.interrupted_by.is_none(), "{error:?}");
    assert_eq!(
        (bulk.inserted_ids.len(), bulk.modified_count, bulk.deleted_count),
        (1, 1, 1)
    );
    assert_eq!(error.write_concern_error().map(|concern| concern.code), Some(50));
    assert_eq!(names(&tested.commands.commands()), ["insert", "update", "delete"]);
}

/// The limit of 9 s is that of the specification: the first of two commands that the server delays
/// by 5 s must fit into it, with the 48 MB that are sent.
mod timed {
    use super::*;

    #[tokio::test]
    async fn client_side_operations_timeout_prose_1() {
        let tested = recorded(standalone().await, "timeoutMS=9000");
        block(&tested.deployment.client, &["insert"], 2, 5_000, "").await;
        let megabyte = Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![0; 1 << 20],
        });
        let documents = vec![doc! { "a": megabyte }; 50];
        let error = times_out(tested.things().insert_many(&documents).into_future()).await;
        assert_eq!(error.operation(), Some("insert"));
        assert_eq!(names(&tested.commands.commands()), ["insert", "insert"]);
    }

    #[tokio::test]
    async fn client_side_operations_timeout_prose_11() {
        let tested = recorded(standalone().await, "timeoutMS=9000");
        let admin = &tested.deployment.client;
        block(admin, &["bulkWrite"], 2, 5_000, "").await;
        let hello = admin
            .database("admin")
            .run_command(doc! { "hello": 1 })
            .await
            .unwrap();
        let limit = |name| usize::try_from(hello.get_i32(name).unwrap()).unwrap();
        let (document, message) = (limit("maxBsonObjectSize"), limit("maxMessageSizeBytes"));
        let large = doc! { "a": "b".repeat(document - 500) };
        let things = tested.things();
        let models: Vec<_> = (0..=message / document)
            .map(|_| things.insert_one_model(&large))
            .collect();
        // The error is one of the bulk write, which contains that of the time limit.
        let error = tested.client.bulk_write(models).await.unwrap_err();
        assert!(error.is_timeout(), "{error}");
        assert_eq!(error.operation(), Some("bulkWrite"));
        assert_eq!(names(&tested.commands.commands()), ["bulkWrite", "bulkWrite"]);
    }
}
