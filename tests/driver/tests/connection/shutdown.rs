//! A shutdown with a deadline: what is in flight continues, and new operations are refused.

use std::time::Duration;

use futures_util::FutureExt;
use marula_driver::{
    ChangeStreamEvent, Client, Collection, Database, ErrorKind, Result, TransactionScope, Unfinished,
    WriteModel,
    bson::{Document, doc},
    options::CursorType,
};
use marula_driver_tests::{Counts, PoolTally, Proxy, proxy::Action};
use marula_test_server::TestServer;
use tokio::{io::AsyncWriteExt, task::JoinHandle};

/// The time limit of tests that end earlier.
const LONG: Duration = Duration::from_secs(60);
/// A deadline that expires.
const SHORT: Duration = Duration::from_millis(50);

/// A replica set, and a client of its primary through a proxy.
struct Fixture {
    server: TestServer,
    proxy: Proxy,
    client: Client,
    tally: PoolTally,
    database: Database,
    things: Collection<Document>,
}

impl Fixture {
    async fn start() -> Self {
        let server = TestServer::builder()
            .replica_set()
            .start()
            .await
            .expect("a server");
        let proxy = Proxy::start(server.primary().expect("a primary")).await;
        let mut options =
            marula_driver::options::ClientOptions::parse(&proxy.uri("maxPoolSize=5")).expect("options");
        let tally = PoolTally::default();
        tally.listen(&mut options);
        let client = Client::with_options(options).expect("a client");
        let database = client.database("d");
        let things = database.collection::<Document>("things");
        let all: Vec<Document> = (1..=5).map(|id| doc! { "_id": id }).collect();
        things.insert_many(&all).await.expect("stored");
        Self {
            server,
            proxy,
            client,
            tally,
            database,
            things,
        }
    }

    /// Holds the replies to this command back until they are released.
    fn hold(&self, command: &'static str) {
        self.proxy.set_rule(move |exchange| {
            if exchange.command == command {
                Action::Stepwise(vec![16])
            } else {
                Action::Pass
            }
        });
    }

    fn release(&self) {
        self.proxy.pass_everything();
        self.proxy.end_waits();
    }

    /// Starts a shutdown in a task, and waits until operations are refused.
    async fn shut_down(&self) -> JoinHandle<Unfinished> {
        let client = self.client.clone();
        let shutdown = tokio::spawn(async move { client.shutdown().deadline(LONG).await });
        while self.ping().await.is_ok() {}
        assert_shut_down(self.ping().await);
        shutdown
    }

    async fn ping(&self) -> Result<()> {
        let admin = self.client.database("admin");
        admin.run_command(doc! { "ping": 1 }).await.map(drop)
    }

    /// Inserts a document in a transaction.
    async fn insert(&self, id: i32, tx: &mut TransactionScope) {
        let document = doc! { "_id": id };
        let insert = self.things.insert_one(&document).session(tx);
        insert.await.expect("a part of the transaction");
    }

    /// Waits for the shutdown, and checks that nothing is left.
    async fn ended(&self, shutdown: JoinHandle<Unfinished>) {
        let rest = tokio::time::timeout(LONG, shutdown).await.expect("in time");
        let rest = rest.expect("no panic");
        assert!(rest.is_empty(), "{rest:?}");
        self.tally.wait_until(Counts::is_at_rest).await;
        self.tally.assert_nothing_left();
        assert!(self.server.commands_seen("endSessions") > 0);
        assert_shut_down(self.ping().await);
    }
}

fn assert_shut_down<T: std::fmt::Debug>(result: Result<T>) {
    let error = result.expect_err("the client shuts down");
    assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error}");
}

#[tokio::test]
async fn operations_complete_and_new_ones_are_refused() {
    let fixture = Fixture::start().await;
    fixture.hold("update");
    let things = fixture.things.clone();
    let update = tokio::spawn(async move {
        // Two commands: the call continues with the second.
        let models = [
            WriteModel::update_one(doc! { "_id": 1 }, doc! { "$set": { "x": 1 } }),
            WriteModel::delete_one(doc! { "_id": 2 }),
        ];
        things.bulk_write(models).await
    });
    fixture.proxy.wait_for_held().await;
    let shutdown = fixture.shut_down().await;
    assert!(!shutdown.is_finished(), "the bulk write is running");
    assert_shut_down(fixture.things.find_one(doc! {}).await);
    assert_shut_down(fixture.things.find(doc! {}).await.map(drop));
    assert_shut_down(fixture.things.insert_one(&doc! {}).await);
    assert_shut_down(fixture.things.watch().await.map(drop));
    assert_shut_down(fixture.client.list_database_names().await);
    assert_shut_down(fixture.client.start_transaction().await);
    assert_shut_down(fixture.client.warm_up().await);
    assert_shut_down(fixture.database.gridfs_bucket().delete(1).await);
    fixture.release();
    let written = update.await.expect("no panic").expect("both were sent");
    assert_eq!((written.modified_count, written.deleted_count), (1, 1));
    fixture.ended(shutdown).await;
}

#[tokio::test]
async fn open_cursors_can_be_read_to_their_end() {
    let fixture = Fixture::start().await;
    let mut cursor = fixture
        .things
        .find(doc! {})
        .batch_size(2)
        .await
        .expect("a cursor");
    assert!(cursor.advance().await.expect("a document"));
    let dropped = fixture
        .things
        .find(doc! {})
        .batch_size(2)
        .await
        .expect("a cursor");
    let shutdown = fixture.shut_down().await;
    assert!(!shutdown.is_finished(), "two cursors are open");
    assert_eq!(cursor.try_collect().await.expect("all batches").len(), 4);
    assert!(!shutdown.is_finished(), "a cursor is open");
    drop(dropped);
    fixture.ended(shutdown).await;
    assert_eq!(fixture.server.commands_seen("killCursors"), 1);
}

#[tokio::test]
async fn cursors_without_an_end_end_with_an_error() {
    let fixture = Fixture::start().await;
    let capped = fixture.database.collection::<Document>("capped");
    let create = fixture.database.create_collection("capped");
    create.capped(true).size(4096).await.expect("created");
    capped.insert_one(&doc! { "_id": 1 }).await.expect("stored");
    let mut tailable = capped
        .find(doc! {})
        .cursor_type(CursorType::Tailable)
        .await
        .expect("a cursor");
    let mut changes = fixture.things.watch().await.expect("a stream");
    fixture.hold("getMore");
    let next = tokio::spawn(async move {
        let event: Result<Option<ChangeStreamEvent<Document>>> = changes.try_next().await;
        (changes, event)
    });
    fixture.proxy.wait_for_held().await;
    let shutdown = fixture.shut_down().await;
    assert!(!shutdown.is_finished(), "a getMore is running");
    fixture.release();
    // The reply has no event, and there is no further getMore.
    let (mut changes, event) = next.await.expect("no panic");
    assert_shut_down(event);
    assert!(changes.try_next().await.expect("the stream has ended").is_none());
    drop(changes);
    assert!(tailable.try_next().await.expect("in the batch").is_some());
    drop(tailable.try_next().await.expect_err("the client shuts down"));
    assert!(tailable.is_exhausted());
    drop(tailable);
    fixture.ended(shutdown).await;
}

#[tokio::test]
async fn transactions_in_progress_can_be_committed_and_dropped_ones_are_aborted() {
    let fixture = Fixture::start().await;
    let mut committed = fixture.client.start_transaction().await.expect("started");
    let mut dropped = fixture.client.start_transaction().await.expect("started");
    for (id, tx) in [(10, &mut committed), (11, &mut dropped)] {
        fixture.insert(id, tx).await;
    }
    let shutdown = fixture.shut_down().await;
    assert!(!shutdown.is_finished(), "two transactions are in progress");
    fixture.insert(12, &mut committed).await;
    let find = fixture.things.find(doc! {}).batch_size(2).session(&mut committed);
    assert_eq!(
        find.await
            .expect("a cursor")
            .try_collect()
            .await
            .expect("all")
            .len(),
        7
    );
    committed.commit().await.expect("committed");
    assert_shut_down(fixture.things.insert_one(&doc! {}).session(&mut committed).await);
    assert_shut_down(committed.start_transaction().await);
    assert!(!shutdown.is_finished(), "a transaction is in progress");
    drop(dropped);
    drop(committed);
    fixture.ended(shutdown).await;
    assert_eq!(fixture.server.commands_seen("abortTransaction"), 1);
}

#[tokio::test]
async fn a_transaction_of_the_convenient_api_is_repeated_and_committed() {
    let fixture = Fixture::start().await;
    fixture.hold("insert");
    let (client, things) = (fixture.client.clone(), fixture.things.clone());
    let transaction = tokio::spawn(async move {
        let run = client.transaction().run(async |tx| {
            things.insert_one(&doc! { "x": 1 }).session(&mut *tx).await?;
            things
                .update_one(doc! { "_id": 1 }, doc! { "$inc": { "x": 1 } })
                .session(tx)
                .await
        });
        run.await
    });
    fixture.proxy.wait_for_held().await;
    let shutdown = fixture.shut_down().await;
    // The transaction conflicts with this one, and is run again.
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["update"], "errorCode": 112, "errorLabels": ["TransientTransactionError"] },
    };
    let other = Client::connect(fixture.server.uri()).await.expect("a client");
    other
        .database("admin")
        .run_command(fail)
        .await
        .expect("a fail point");
    fixture.release();
    transaction.await.expect("no panic").expect("committed");
    fixture.ended(shutdown).await;
    assert_eq!(fixture.server.commands_seen("abortTransaction"), 1);
    assert_eq!(fixture.server.commands_seen("commitTransaction"), 1);
}

#[tokio::test]
async fn streams_of_gridfs_can_be_completed_and_dropped_ones_are_aborted() {
    let fixture = Fixture::start().await;
    let bucket = fixture.database.gridfs_bucket().with_chunk_size(1024);
    let bytes = vec![7; 10_000];
    let id = bucket
        .upload_from_stream("first", &bytes[..])
        .await
        .expect("stored");
    let mut download = bucket.open_download_stream(id).await.expect("a file");
    let mut upload = bucket.open_upload_stream("second").await.expect("a stream");
    let mut dropped = bucket.open_upload_stream("third").await.expect("a stream");
    upload.write_all(&bytes).await.expect("written");
    dropped.write_all(&bytes).await.expect("written");
    dropped.flush().await.expect("inserted");
    let shutdown = fixture.shut_down().await;
    assert!(!shutdown.is_finished(), "three streams are open");
    assert_shut_down(bucket.open_upload_stream("fourth").await);
    upload.close().await.expect("closed");
    let mut read = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut download, &mut read)
        .await
        .expect("read");
    assert_eq!(read, bytes);
    assert!(!shutdown.is_finished(), "a stream is open");
    drop(dropped);
    fixture.ended(shutdown).await;
    let other = Client::connect(fixture.server.uri()).await.expect("a client");
    let chunks = other.database("d").collection::<Document>("fs.chunks");
    assert_eq!(chunks.count_documents(doc! {}).await.expect("a count"), 20);
}

#[tokio::test]
async fn late_replies_are_awaited() {
    let fixture = Fixture::start().await;
    fixture.hold("find");
    let mut find = fixture.things.find(doc! {}).batch_size(2).into_future();
    assert!((&mut find).now_or_never().is_none());
    fixture.proxy.wait_for_held().await;
    drop(find);
    let shutdown = fixture.shut_down().await;
    fixture.release();
    fixture.ended(shutdown).await;
    assert_eq!(
        fixture.server.commands_seen("killCursors"),
        1,
        "the cursor of the late reply"
    );
}

#[tokio::test]
async fn the_rest_is_reported_at_the_deadline() {
    let fixture = Fixture::start().await;
    let cursor = fixture
        .things
        .find(doc! {})
        .batch_size(2)
        .await
        .expect("a cursor");
    let mut tx = fixture.client.start_transaction().await.expect("started");
    fixture.insert(10, &mut tx).await;
    fixture.hold("update");
    let mut update = fixture
        .things
        .update_one(doc! {}, doc! { "$set": { "x": 1 } })
        .into_future();
    assert!((&mut update).now_or_never().is_none());
    fixture.proxy.wait_for_held().await;
    let rest = fixture.client.shutdown().deadline(SHORT).await;
    assert_eq!(
        (
            rest.operations,
            rest.cursors,
            rest.transactions,
            rest.background_tasks
        ),
        (1, 1, 1, 0)
    );
    assert_shut_down(tx.commit().await);
    fixture.release();
    update.await.expect("its command was sent");
    drop((cursor, tx));
    // A further call completes at once, whatever its deadline is.
    fixture.client.shutdown().deadline(LONG).await;
    fixture.tally.wait_until(Counts::is_at_rest).await;
    fixture.tally.assert_nothing_left();
}

#[tokio::test]
async fn the_first_shutdown_that_ends_ends_the_others() {
    let fixture = Fixture::start().await;
    let cursor = fixture
        .things
        .find(doc! {})
        .batch_size(2)
        .await
        .expect("a cursor");
    let shutdown = fixture.shut_down().await;
    let rest = fixture.client.clone().shutdown().await;
    assert_eq!(rest.cursors, 1);
    let rest = tokio::time::timeout(LONG, shutdown).await.expect("in time");
    assert_eq!(rest.expect("no panic").cursors, 1);
    drop(cursor);
}

#[tokio::test]
async fn a_dropped_shutdown_admits_operations_again() {
    let fixture = Fixture::start().await;
    let mut cursor = fixture
        .things
        .find(doc! {})
        .batch_size(2)
        .await
        .expect("a cursor");
    let mut first = fixture.client.shutdown().deadline(LONG).into_future();
    let mut second = fixture.client.shutdown().deadline(LONG).into_future();
    assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
    drop(first);
    assert_shut_down(fixture.ping().await);
    drop(second);
    fixture.ping().await.expect("accepted again");
    assert!(cursor.advance().await.expect("a document"));
    let shutdown = fixture.shut_down().await;
    cursor.close().await;
    fixture.ended(shutdown).await;
}

/// The ids leave the session pool before `endSessions` is sent.
#[tokio::test]
async fn a_dropped_shutdown_ends_the_unused_sessions() {
    let fixture = Fixture::start().await;
    let session = fixture.client.start_session().await.expect("a session");
    fixture.hold("ping");
    let pings: Vec<_> = (0..5)
        .map(|_| {
            let database = fixture.database.clone();
            tokio::spawn(async move { database.run_command(doc! { "ping": 1 }).await.map(drop) })
        })
        .collect();
    fixture.server.wait_for_command("ping", 5).await;
    drop(session);
    // No connection is available.
    let shutdown = fixture.client.shutdown().into_future();
    assert!(shutdown.now_or_never().is_none());
    fixture.release();
    fixture.server.wait_for_command("endSessions", 1).await;
    for ping in pings {
        ping.await.expect("no panic").expect("a reply");
    }
    let found = fixture.things.find_one(doc! {}).await;
    assert!(found.expect("the client accepts operations again").is_some());
}

/// The session and the cursor exist, but nothing of them is in progress on the server.
#[tokio::test]
async fn a_sent_commit_and_a_failed_cursor_are_not_waited_for() {
    let fixture = Fixture::start().await;
    let mut session = fixture.client.start_session().await.expect("a session");
    session.start_transaction().await.expect("it starts");
    let document = doc! { "_id": 10 };
    let insert = fixture.things.insert_one(&document).session(&mut session);
    insert.await.expect("a part of the transaction");
    fixture.hold("commitTransaction");
    let commit = session.commit_transaction().into_future();
    tokio::select! {
        biased;
        _ = commit => panic!("the reply is held back"),
        () = fixture.proxy.wait_for_held() => {}
    }
    fixture.release();

    let mut cursor = fixture
        .things
        .find(doc! {})
        .batch_size(2)
        .await
        .expect("a cursor");
    let point = doc! {
        "configureFailPoint": "failCommand",
        "mode": { "times": 1 },
        "data": { "failCommands": ["getMore"], "errorCode": 237 },
    };
    let admin = fixture.client.database("admin");
    admin.run_command(point).await.expect("a fail point");
    while cursor.advance().await.is_ok() {}

    let shutdown = fixture.shut_down().await;
    fixture.ended(shutdown).await;
    drop((session, cursor));
}
