//! Errors caused by the application, and replies with missing fields, do not change the description
//! of the server: the pool is not cleared, and the connection stays in use.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client, Collection, Database, Error, ErrorKind, IndexModel,
    bson::{Bson, Document, doc},
    event::{EventListener, SdamEvent},
    options::ClientOptions,
};
use marula_driver_tests::{AnsweringServer, PoolTally, standalone};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Small, so that a larger message is easy to create.
const MAX_MESSAGE_SIZE: i32 = 20_000;

/// A client with one connection, and counts of its events.
struct RecordedClient {
    client: Client,
    tally: PoolTally,
    descriptions: Arc<AtomicUsize>,
}

impl RecordedClient {
    fn new(uri: &str) -> Self {
        let mut options = ClientOptions::parse(uri).expect("a connection string");
        let tally = PoolTally::default();
        tally.listen(&mut options);
        let descriptions = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&descriptions);
        options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
            if let SdamEvent::ServerDescriptionChanged { .. } = event {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }));
        Self {
            client: Client::with_options(options).expect("a client"),
            tally,
            descriptions,
        }
    }

    /// The state that must not change.
    fn state(&self) -> (usize, usize, usize) {
        let counts = self.tally.counts();
        (
            self.descriptions.load(Ordering::SeqCst),
            counts.cleared,
            counts.created,
        )
    }
}

/// An operation of an application, some of which are mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    RunCommand,
    RunCursorCommand,
    Typed,
    Find,
    FindOne,
    Aggregate,
    Distinct,
    FindOneAndUpdate,
    FindOneAndDelete,
    InsertOne,
    InsertMany,
    UpdateOne,
    DeleteMany,
    Count,
    EstimatedCount,
    ListCollections,
    CreateIndex,
    Drop,
    TooLarge,
    NoUpdate,
    NoCommand,
    NoKey,
}

const OPERATIONS: [Operation; 22] = [
    Operation::RunCommand,
    Operation::RunCursorCommand,
    Operation::Typed,
    Operation::Find,
    Operation::FindOne,
    Operation::Aggregate,
    Operation::Distinct,
    Operation::FindOneAndUpdate,
    Operation::FindOneAndDelete,
    Operation::InsertOne,
    Operation::InsertMany,
    Operation::UpdateOne,
    Operation::DeleteMany,
    Operation::Count,
    Operation::EstimatedCount,
    Operation::ListCollections,
    Operation::CreateIndex,
    Operation::Drop,
    Operation::TooLarge,
    Operation::NoUpdate,
    Operation::NoCommand,
    Operation::NoKey,
];

#[derive(Debug, serde::Deserialize)]
struct Typed {
    #[expect(dead_code, reason = "never read")]
    value: i32,
}

impl Operation {
    async fn run(self, database: &Database) -> Result<(), Error> {
        let things: Collection<Document> = database.collection("things");
        let set = || doc! { "$set": { "a": 1 } };
        match self {
            Self::RunCommand => database.run_command(doc! { "x": 1 }).await.map(drop),
            Self::RunCursorCommand => {
                let cursor = database.run_cursor_command(doc! { "x": 1 }).await?;
                cursor.try_collect().await.map(drop)
            }
            Self::Typed => {
                let typed = things.clone_with_type::<Typed>();
                typed.find_one(doc! {}).await.map(drop)
            }
            Self::Find => things.find(doc! {}).await?.try_collect().await.map(drop),
            Self::FindOne => things.find_one(doc! {}).await.map(drop),
            Self::Aggregate => things.aggregate([doc! {}]).await?.try_collect().await.map(drop),
            Self::Distinct => things.distinct("a", doc! {}).await.map(drop),
            Self::FindOneAndUpdate => things.find_one_and_update(doc! {}, set()).await.map(drop),
            Self::FindOneAndDelete => things.find_one_and_delete(doc! {}).await.map(drop),
            Self::InsertOne => things.insert_one(&doc! {}).await.map(drop),
            Self::InsertMany => things.insert_many(&[doc! {}, doc! {}]).await.map(drop),
            Self::UpdateOne => things.update_one(doc! {}, set()).await.map(drop),
            Self::DeleteMany => things.delete_many(doc! {}).await.map(drop),
            Self::Count => things.count_documents(doc! {}).await.map(drop),
            Self::EstimatedCount => things.estimated_document_count().await.map(drop),
            Self::ListCollections => database.list_collection_names().await.map(drop),
            Self::CreateIndex => things
                .create_index(IndexModel::new(doc! { "a": 1 }))
                .await
                .map(drop),
            Self::Drop => things.drop().await,
            Self::TooLarge => {
                let large = doc! { "_id": "x".repeat(MAX_MESSAGE_SIZE as usize) };
                let error = things
                    .find_one(large)
                    .await
                    .expect_err("the message is too large");
                assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
                Err(error)
            }
            Self::NoUpdate => things.update_one(doc! {}, doc! {}).await.map(drop),
            Self::NoCommand => database.run_command(doc! {}).await.map(drop),
            Self::NoKey => things.find_one(doc! { "a\0b": 1 }).await.map(drop),
        }
    }
}

/// Values that have the type of some reply fields.
fn value() -> impl Strategy<Value = Bson> {
    prop_oneof![
        Just(Bson::Null),
        Just(Bson::Int32(1)),
        Just(Bson::Int64(-1)),
        Just(Bson::Double(0.5)),
        Just(Bson::from("text")),
        Just(Bson::from(doc! {})),
        Just(Bson::from(
            doc! { "value": "text", "_id": 1, "index": 0, "code": 64, "errmsg": "why" }
        )),
        Just(Bson::Array(vec![])),
        Just(Bson::from(vec![Bson::Int32(1), Bson::Null])),
        Just(Bson::from(vec![
            doc! { "index": 0, "code": 11000, "errmsg": "why" }
        ])),
        Just(Bson::from(vec![doc! { "index": "x", "code": "y" }])),
    ]
}

fn cursor() -> impl Strategy<Value = Bson> {
    let field = |good: Bson| prop_oneof![3 => Just(Some(good)), 1 => value().prop_map(Some), 1 => Just(None)];
    let parts = (
        field(Bson::Int64(0)),
        field(Bson::from("d.things")),
        field(Bson::from(vec![doc! { "name": "x", "value": 1 }])),
    );
    let cursor = parts.prop_map(|(id, ns, batch)| {
        let mut cursor = Document::new();
        for (key, value) in [("id", id), ("ns", ns), ("firstBatch", batch)] {
            cursor.extend(value.map(|value| (key.to_owned(), value)));
        }
        Bson::from(cursor)
    });
    prop_oneof![4 => cursor, 1 => value()]
}

/// Error codes other than those of state change errors.
const CODES: [i32; 9] = [2, 11, 26, 43, 48, 59, 64, 100, 11000];

fn reply() -> impl Strategy<Value = Document> {
    let good = (
        prop::option::weighted(0.6, cursor()),
        prop::collection::vec(
            (
                prop::sample::select(vec![
                    "value",
                    "values",
                    "n",
                    "nModified",
                    "upserted",
                    "writeErrors",
                    "writeConcernError",
                    "errorLabels",
                    "operationTime",
                    "code",
                    "note",
                ]),
                value(),
            ),
            0..4,
        ),
    );
    let good = good.prop_map(|(cursor, fields)| {
        let mut reply = doc! { "ok": 1 };
        reply.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor)));
        reply.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        reply
    });
    let refused = (prop::sample::select(CODES.to_vec()), any::<bool>()).prop_map(|(code, labelled)| {
        let mut reply = doc! { "ok": 0, "code": code, "codeName": "Some", "errmsg": "refused" };
        if labelled {
            reply.insert("errorLabels", vec!["SomeLabel"]);
        }
        reply
    });
    prop_oneof![4 => good, 1 => refused]
}

async fn check_history(history: &[(Operation, Document)]) -> Result<(), TestCaseError> {
    let server = AnsweringServer::start(doc! { "maxMessageSizeBytes": MAX_MESSAGE_SIZE }).await;
    let recorded = RecordedClient::new(&server.uri("maxPoolSize=1&heartbeatFrequencyMS=3600000"));
    let database = recorded.client.database("d");
    database.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let before = recorded.state();
    for (operation, reply) in history {
        server.clear_replies();
        server.answer(reply.clone());
        let outcome = operation.run(&database).await;
        if let Err(error) = &outcome {
            prop_assert!(
                !matches!(
                    error.kind(),
                    ErrorKind::Protocol(_)
                        | ErrorKind::Network(_)
                        | ErrorKind::Pool(_)
                        | ErrorKind::ServerSelection(_)
                ),
                "{operation:?}: {error:?}"
            );
        }
        server.clear_replies();
        database.run_command(doc! { "ping": 1 }).await.expect("a reply");
        prop_assert_eq!(
            recorded.state(),
            before,
            "{:?} with reply {}: {:?}",
            operation,
            reply,
            outcome
        );
    }
    // The connection of the monitor, and that of the pool.
    prop_assert_eq!(server.connections(), 2);
    recorded.client.shutdown().await;
    Ok(())
}

#[test]
fn application_errors_do_not_change_the_description_or_the_pool() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let config = Config {
        cases: 96,
        failure_persistence: None,
        ..Config::default()
    };
    let history = prop::collection::vec((prop::sample::select(OPERATIONS.to_vec()), reply()), 1..12);
    TestRunner::new(config)
        .run(&history, |history| {
            runtime.block_on(async {
                tokio::time::timeout(TIME_LIMIT, check_history(&history))
                    .await
                    .unwrap_or_else(|_| panic!("{history:?} hangs"))
            })
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// The same mistakes with a test server.
#[tokio::test]
async fn commands_without_cursor_do_not_change_the_server_or_its_connection() {
    let deployment = standalone().await;
    let separator = if deployment.server.uri().contains('?') {
        '&'
    } else {
        '?'
    };
    let recorded = RecordedClient::new(&format!("{}{separator}maxPoolSize=1", deployment.server.uri()));
    let database = recorded.client.database("d");
    database.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let before = recorded.state();
    for command in [
        doc! { "ping": 1 },
        doc! { "buildInfo": 1 },
        doc! { "count": "things" },
    ] {
        let error = database.run_cursor_command(command).await.expect_err("no cursor");
        assert!(matches!(error.kind(), ErrorKind::InvalidReply(_)), "{error}");
        assert!(
            error.to_string().contains("cursor") && error.address().is_some(),
            "{error}"
        );
        database.run_command(doc! { "ping": 1 }).await.expect("a reply");
    }
    assert_eq!(recorded.state(), before);
}

/// A write concern error with a state change error changes the server's description, for every
/// command and regardless of the other fields of the reply.
#[tokio::test]
async fn a_write_concern_error_of_any_command_that_reports_a_shutdown_clears_the_pool() {
    let concern = || doc! { "code": 91, "codeName": "ShutdownInProgress", "errmsg": "going down" };
    let duplicate = || vec![doc! { "index": 0, "code": 11000, "errmsg": "duplicate" }];
    let both = doc! { "ok": 1, "n": 0, "writeErrors": duplicate(), "writeConcernError": concern() };
    let alone = doc! { "ok": 1, "n": 1, "writeConcernError": concern() };
    let refused = doc! { "ok": 0, "code": 26, "errmsg": "no namespace", "writeConcernError": concern() };
    for (operation, reply) in [
        (Operation::UpdateOne, both.clone()),
        (Operation::InsertOne, both.clone()),
        (Operation::InsertMany, both.clone()),
        (Operation::RunCommand, both),
        (Operation::UpdateOne, alone.clone()),
        (Operation::RunCommand, alone.clone()),
        (Operation::RunCursorCommand, alone.clone()),
        (Operation::Drop, alone.clone()),
        (Operation::CreateIndex, alone),
        (Operation::RunCommand, refused.clone()),
        (Operation::Drop, refused),
    ] {
        let server = AnsweringServer::start(doc! {}).await;
        let recorded = RecordedClient::new(&server.uri("heartbeatFrequencyMS=3600000&retryWrites=false"));
        let database = recorded.client.database("d");
        database.run_command(doc! { "ping": 1 }).await.expect("a reply");
        server.answer(reply.clone());
        let outcome = operation.run(&database).await;
        assert_eq!(
            recorded.tally.counts().cleared,
            1,
            "{operation:?} with reply {reply}: {outcome:?}"
        );
        // The server became Unknown and was discovered again.
        database.run_command(doc! { "ping": 1 }).await.expect("a reply");
        assert_eq!(recorded.state().0, 3, "{operation:?} with reply {reply}");
        if matches!(
            operation,
            Operation::UpdateOne | Operation::InsertOne | Operation::InsertMany
        ) {
            let error = outcome.expect_err("the write failed");
            assert_eq!(error.write_concern_error().map(|concern| concern.code), Some(91));
            assert_eq!(
                error.is_duplicate_key(),
                reply.contains_key("writeErrors"),
                "{error}"
            );
        }
    }
}
