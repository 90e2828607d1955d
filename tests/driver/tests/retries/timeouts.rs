//! The prose tests of the Client Side Operations Timeout specification. Their times are longer than
//! those of the specification, so that a loaded machine does not change which command times out.

use std::time::Duration;

use marula_driver::{
    Client, Collection, Error, ErrorKind, TransactionScope,
    bson::{Bson, DateTime, Document, ObjectId, doc},
    event::{CommandEvent, EventListener, PoolEvent},
    options::{ClientOptions, CursorType},
};
use marula_driver_tests::{CommandRecorder, Deployment, RecordedClient, recorded, replica_set, standalone};
use marula_test_server::TestServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
};

use crate::prose::stage::{fail, times};

/// The time limit of waits, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// A time that a server waits in place of one that is longer than any other.
const NEVER: i32 = 600_000;

fn blocking(commands: &[&str], millis: i32) -> Document {
    let commands: Vec<Bson> = commands.iter().map(|name| (*name).into()).collect();
    doc! { "failCommands": commands, "blockConnection": true, "blockTimeMS": millis }
}

/// Blocks the next commands with these names.
async fn block(client: &Client, count: i32, commands: &[&str], millis: i32) {
    let point = doc! {
        "configureFailPoint": "failCommand", "mode": times(count), "data": blocking(commands, millis),
    };
    let admin = client.database("admin");
    admin.run_command(point).await.expect("the fail point is set");
}

fn is_timeout(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Timeout(_))
}

/// The names of the commands so far.
fn names(commands: &CommandRecorder) -> Vec<String> {
    let name = |command: &Document| command.keys().next().cloned().unwrap_or_default();
    commands.commands().iter().map(name).collect()
}

fn collection(recorded: &RecordedClient) -> Collection<Document> {
    recorded.client.database("db").collection("coll")
}

#[tokio::test]
async fn client_side_operations_timeout_prose_1() {
    let deployment = standalone().await;
    block(&deployment.client, 2, &["insert"], 2_020).await;
    let recorded = recorded(deployment, "timeoutMS=4000");
    let document = doc! { "a": "b".repeat(1_000_000) };
    let all = vec![document; 50];
    let error = collection(&recorded)
        .insert_many(&all)
        .await
        .expect_err("blocked twice");
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(names(&recorded.commands), ["insert", "insert"]);
}

#[tokio::test]
async fn client_side_operations_timeout_prose_11() {
    let deployment = standalone().await;
    block(&deployment.client, 2, &["bulkWrite"], 2_020).await;
    let recorded = recorded(deployment, "timeoutMS=4000");
    let hello = recorded
        .deployment
        .client
        .database("admin")
        .run_command(doc! { "hello": 1 })
        .await
        .expect("a reply");
    let number = |name| usize::try_from(hello.get_i32(name).expect("a number")).expect("a size");
    let (document, message) = (number("maxBsonObjectSize"), number("maxMessageSizeBytes"));
    let large = doc! { "a": "b".repeat(document - 500) };
    let things = collection(&recorded);
    let models: Vec<_> = (0..=message / document)
        .map(|_| things.insert_one_model(&large))
        .collect();
    let error = recorded
        .client
        .bulk_write(models)
        .await
        .expect_err("blocked twice");
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(names(&recorded.commands), ["bulkWrite", "bulkWrite"]);
}

/// A server with a user, and the connection string with its credentials.
async fn with_user() -> Deployment {
    let server = TestServer::builder()
        .standalone()
        .auth("user", "pencil")
        .start()
        .await;
    Deployment::of(server.expect("a server"), "").await
}

/// Connects a client whose pool events are received.
fn observed(deployment: &Deployment, options: &str) -> (Client, mpsc::UnboundedReceiver<PoolEvent>) {
    let uri = deployment.server.uri();
    let joint = if uri.contains('?') { '&' } else { '?' };
    let mut options = ClientOptions::parse(&format!("{uri}{joint}{options}")).expect("options");
    let (sink, events) = mpsc::unbounded_channel();
    options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
        let _ = sink.send(event.clone());
    }));
    (Client::with_options(options).expect("a client"), events)
}

async fn wait_for(events: &mut mpsc::UnboundedReceiver<PoolEvent>, is_expected: fn(&PoolEvent) -> bool) {
    let found = async {
        while let Some(event) = events.recv().await {
            if is_expected(&event) {
                return;
            }
        }
        panic!("the client has ended");
    };
    tokio::time::timeout(TIME_LIMIT, found).await.expect("the event");
}

#[tokio::test]
async fn client_side_operations_timeout_prose_4a() {
    let deployment = with_user().await;
    let mut data = blocking(&["saslContinue"], 1_000);
    data.insert("appName", "timeoutBackgroundPoolTest");
    fail(&deployment.server.uri(), times(1), data).await;
    let options = "appName=timeoutBackgroundPoolTest&minPoolSize=1&timeoutMS=50";
    let (_client, mut events) = observed(&deployment, options);
    wait_for(&mut events, |event| {
        matches!(event, PoolEvent::ConnectionCreated { .. })
    })
    .await;
    wait_for(&mut events, |event| {
        matches!(event, PoolEvent::ConnectionClosed { .. })
    })
    .await;
}

/// All commands of the handshake together take longer than the time limit.
#[tokio::test]
async fn client_side_operations_timeout_prose_4b() {
    let deployment = with_user().await;
    let mut data = blocking(&["hello", "isMaster", "saslContinue"], 600);
    data.insert("appName", "refreshTimeoutBackgroundPoolTest");
    fail(&deployment.server.uri(), times(1_000), data).await;
    let options = "appName=refreshTimeoutBackgroundPoolTest&minPoolSize=1&timeoutMS=1000";
    let (_client, mut events) = observed(&deployment, options);
    wait_for(&mut events, |event| {
        matches!(event, PoolEvent::ConnectionCreated { .. })
    })
    .await;
    wait_for(&mut events, |event| {
        matches!(event, PoolEvent::ConnectionReady { .. })
    })
    .await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_5a() {
    let deployment = standalone().await;
    let database = deployment.client.database("db");
    let created = database.create_collection("coll").capped(true).size(100_000);
    created.await.expect("created");
    let direct = database.collection::<Document>("coll");
    direct.insert_one(&doc! { "x": 1 }).await.expect("stored");
    block(&deployment.client, 1_000, &["getMore"], 600).await;
    let recorded = recorded(deployment, "timeoutMS=1000");
    let things = collection(&recorded);
    let find = things.find(doc! {}).cursor_type(CursorType::Tailable);
    let mut cursor = find.await.expect("a cursor");
    assert!(!cursor.is_exhausted());
    let first = cursor.try_next().await.expect("no error").expect("a document");
    assert_eq!(first.get_i32("x").ok(), Some(1));
    let error = cursor.try_next().await.expect_err("blocked");
    assert!(is_timeout(&error), "{error:?}");
    let names = names(&recorded.commands);
    assert_eq!(names[..3], ["find", "getMore", "getMore"], "{names:?}");
}

#[tokio::test]
async fn client_side_operations_timeout_prose_5b() {
    let deployment = replica_set().await;
    let database = deployment.client.database("db");
    database.create_collection("coll").await.expect("created");
    block(&deployment.client, 1_000, &["getMore"], 600).await;
    let recorded = recorded(deployment, "timeoutMS=1000");
    let things = collection(&recorded);
    // The server would wait for longer than the time limit.
    let watch = things.watch().max_await_time(Duration::from_millis(1));
    let mut changes = watch.await.expect("a stream");
    assert!(changes.is_alive());
    let error = changes.try_next().await.expect_err("blocked");
    assert!(is_timeout(&error), "{error:?}");
    assert!(changes.is_alive());
    let names = names(&recorded.commands);
    assert_eq!(names[..3], ["aggregate", "getMore", "getMore"], "{names:?}");
    assert!(!names[3..].contains(&"aggregate".to_owned()), "{names:?}");
}

fn io_timeout(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    inner.is_some_and(is_timeout)
}

#[tokio::test]
async fn client_side_operations_timeout_prose_6a() {
    let deployment = replica_set().await;
    block(&deployment.client, 1, &["insert"], 3_000).await;
    let client = deployment.client_with("timeoutMS=1500").await;
    let bucket = client.database("db").gridfs_bucket();
    let mut upload = bucket.open_upload_stream("filename").await.expect("a stream");
    upload.write_all(&[0x12]).await.expect("buffered");
    let error = upload.close().await.expect_err("blocked");
    assert!(is_timeout(&error), "{error:?}");
}

#[tokio::test]
async fn client_side_operations_timeout_prose_6b() {
    let deployment = replica_set().await;
    block(&deployment.client, 1, &["delete"], 3_000).await;
    let client = deployment.client_with("timeoutMS=1500").await;
    let bucket = client.database("db").gridfs_bucket().with_chunk_size(2);
    let mut upload = bucket.open_upload_stream("filename").await.expect("a stream");
    upload.write_all(&[1, 2, 3, 4]).await.expect("buffered");
    // Chunks are inserted in batches.
    upload.flush().await.expect("inserted");
    let error = upload.abort().await.expect_err("blocked");
    assert!(is_timeout(&error), "{error:?}");
}

#[tokio::test]
async fn client_side_operations_timeout_prose_7() {
    let deployment = replica_set().await;
    let id = ObjectId::parse_str("000000000000000000000005").expect("an id");
    let files = deployment
        .client
        .database("db")
        .collection::<Document>("fs.files");
    let file = doc! {
        "_id": id, "length": 10, "chunkSize": 4, "uploadDate": DateTime::from_millis(0), "filename": "length-10",
        "md5": "57d83cd477bfb1ccd975ab33d827a92b", "contentType": "application/octet-stream", "aliases": [],
        "metadata": {},
    };
    files.insert_one(&file).await.expect("stored");
    let recorded = recorded(deployment, "timeoutMS=1500");
    let bucket = recorded.client.database("db").gridfs_bucket();
    let mut download = bucket.open_download_stream(id).await.expect("a stream");
    // Opening the stream has read the document of the file.
    block(&recorded.deployment.client, 1, &["find"], 3_000).await;
    let error = download.read_to_end(&mut Vec::new()).await.expect_err("blocked");
    assert!(io_timeout(&error), "{error:?}");
    assert_eq!(names(&recorded.commands), ["find", "find"]);
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8a_8b_8c_8d() {
    for options in [
        "serverSelectionTimeoutMS=10".to_owned(),
        format!("timeoutMS=10&serverSelectionTimeoutMS={NEVER}"),
        format!("timeoutMS={NEVER}&serverSelectionTimeoutMS=10"),
        "timeoutMS=0&serverSelectionTimeoutMS=10".to_owned(),
    ] {
        let uri = format!("mongodb://invalid/?{options}");
        let client = Client::connect(uri).await.expect("a client");
        let admin = client.database("admin");
        let ping = admin.run_command(doc! { "ping": 1 }).into_future();
        let pinged = tokio::time::timeout(TIME_LIMIT, ping)
            .await
            .expect("the shorter limit");
        let error = pinged.expect_err("no server");
        assert!(error.is_timeout(), "{options}: {error:?}");
        // Without timeoutMS, errors keep their kinds.
        let has_timeout_ms = options.starts_with("timeoutMS");
        assert_eq!(is_timeout(&error), has_timeout_ms, "{options}: {error:?}");
    }
}

#[tokio::test]
async fn client_side_operations_timeout_prose_8e_8f() {
    let deployment = with_user().await;
    for options in [
        format!("timeoutMS=200&serverSelectionTimeoutMS={NEVER}"),
        format!("timeoutMS={NEVER}&serverSelectionTimeoutMS=200"),
    ] {
        fail(
            &deployment.server.uri(),
            times(1),
            blocking(&["saslContinue"], NEVER),
        )
        .await;
        let client = deployment.client_with(&options).await;
        let things = client.database("db").collection::<Document>("coll");
        let document = doc! { "x": 1 };
        let insert = things.insert_one(&document).into_future();
        let inserted = tokio::time::timeout(TIME_LIMIT, insert)
            .await
            .expect("the shorter limit");
        let error = inserted.expect_err("no connection");
        assert!(is_timeout(&error), "{options}: {error:?}");
    }
}

/// The errors of ending a session are not reported. The server blocks the abort for longer than the
/// test waits.
#[tokio::test]
async fn client_side_operations_timeout_prose_9() {
    let limit = Duration::from_millis(500);
    for own in [None, Some(limit)] {
        let deployment = replica_set().await;
        block(&deployment.client, 1, &["abortTransaction"], NEVER).await;
        let options = if own.is_none() { "timeoutMS=500" } else { "" };
        let recorded = recorded(deployment, options);
        let mut start = recorded.client.start_session();
        if let Some(own) = own {
            start = start.default_timeout(own);
        }
        let mut session = start.await.expect("a session");
        session.start_transaction().await.expect("started");
        let things = collection(&recorded);
        things
            .insert_one(&doc! { "x": 1 })
            .session(&mut session)
            .await
            .expect("stored");
        tokio::time::timeout(TIME_LIMIT, session.end())
            .await
            .expect("the time limit ends the abort");
        assert_eq!(names(&recorded.commands), ["insert", "abortTransaction"]);
    }
}

#[tokio::test]
async fn client_side_operations_timeout_prose_10() {
    let deployment = replica_set().await;
    block(&deployment.client, 2, &["insert", "abortTransaction"], 3_000).await;
    let recorded = recorded(deployment, "timeoutMS=1000");
    let things = collection(&recorded);
    let insert = async |tx: &mut TransactionScope| things.insert_one(&doc! { "_id": 1 }).session(tx).await;
    let outcome = recorded.client.transaction().run(insert).await;
    let error = outcome.expect_err("blocked");
    assert!(is_timeout(&error), "{error:?}");
    let kind = |event: &CommandEvent| match event {
        CommandEvent::Started(event) => Some(format!("{} started", event.command_name)),
        CommandEvent::Failed(event) => Some(format!("{} failed", event.command_name)),
        CommandEvent::Succeeded(event) => Some(format!("{} succeeded", event.command_name)),
        _ => None,
    };
    let events: Vec<String> = recorded.commands.take().iter().filter_map(kind).collect();
    assert_eq!(
        events,
        [
            "insert started",
            "insert failed",
            "abortTransaction started",
            "abortTransaction failed"
        ]
    );
}
