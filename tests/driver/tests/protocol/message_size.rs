//! No message exceeds `maxMessageSizeBytes` (OP_MSG specification): a larger one is rejected before
//! it is sent.

use marula_driver::{
    Client, Collection, Error, ErrorKind, WriteModel,
    bson::{Binary, BinarySubtype, Document, doc},
    options::ClientOptions,
};
use marula_driver_tests::{AnsweringServer, PoolTally};
use marula_test_server::TestServer;

const LIMIT: i32 = 10_000;

async fn limited() -> (AnsweringServer, Client, PoolTally) {
    let server = AnsweringServer::start(doc! { "maxMessageSizeBytes": LIMIT }).await;
    let uri = server.uri("heartbeatFrequencyMS=3600000&maxPoolSize=1");
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    let client = Client::with_options(options).expect("a client");
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    (server, client, tally)
}

fn large() -> String {
    "x".repeat(LIMIT as usize)
}

fn expect_rejection(error: &Error, limit: i32) {
    let ErrorKind::InvalidArgument(text) = error.kind() else {
        panic!("{error:?}");
    };
    assert!(
        text.contains("maxMessageSizeBytes") && text.contains(&limit.to_string()) && text.contains("split"),
        "{text}"
    );
    assert!(
        !error.is_network() && !error.is_unavailable() && error.labels().is_empty(),
        "{error:?}"
    );
}

#[tokio::test]
async fn operations_reject_messages_over_the_limit() {
    let (server, client, tally) = limited().await;
    let database = client.database("d");
    let things: Collection<Document> = database.collection("things");
    let filter = || doc! { "a": large() };
    let set = || doc! { "$set": filter() };
    let refused = [
        things.find(filter()).await.map(drop),
        things.find_one(filter()).await.map(drop),
        things.aggregate([doc! { "$match": filter() }]).await.map(drop),
        things.count_documents(filter()).await.map(drop),
        things.distinct("a", filter()).await.map(drop),
        things.insert_one(&filter()).await.map(drop),
        things.insert_many(&[filter(), doc! {}]).await.map(drop),
        things.update_one(doc! {}, set()).await.map(drop),
        things
            .update_many(filter(), doc! { "$set": { "a": 1 } })
            .await
            .map(drop),
        things.replace_one(doc! {}, &filter()).await.map(drop),
        things.delete_one(filter()).await.map(drop),
        things.find_one_and_update(doc! {}, set()).await.map(drop),
        things.find_one_and_replace(doc! {}, &filter()).await.map(drop),
        things.find_one_and_delete(filter()).await.map(drop),
        database.run_command(doc! { "x": large() }).await.map(drop),
        database.run_cursor_command(doc! { "x": large() }).await.map(drop),
        things
            .bulk_write([WriteModel::delete_one(filter())])
            .await
            .map(drop),
    ];
    for (index, outcome) in refused.into_iter().enumerate() {
        match outcome {
            Ok(()) => panic!("operation {index} was sent"),
            Err(error) => expect_rejection(&error, LIMIT),
        }
    }
    // No command was sent, the pool was not cleared, and the connection stays in use.
    assert_eq!(server.commands().len(), 1, "the first ping");
    database.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let counts = tally.counts();
    assert_eq!((counts.cleared, counts.created), (0, 1), "{counts:?}");
}

#[tokio::test]
async fn a_message_of_exactly_the_limit_is_sent_and_one_byte_more_is_rejected() {
    let (server, client, _) = limited().await;
    let database = client.database("d");
    let send = async |filling: usize| database.run_command(doc! { "x": "x".repeat(filling) }).await;
    send(0).await.expect("a reply");
    let around = server
        .commands()
        .last()
        .and_then(|command| command.get_i32("(size)").ok());
    let fitting = LIMIT as usize - around.expect("a command") as usize;
    send(fitting).await.expect("a reply");
    let sent = server.commands();
    assert_eq!(
        sent.last().and_then(|command| command.get_i32("(size)").ok()),
        Some(LIMIT)
    );
    expect_rejection(&send(fitting + 1).await.expect_err("one byte more"), LIMIT);
    assert_eq!(server.commands().len(), sent.len());
}

/// The results of statements that were sent are reported; the following statements are not sent.
#[tokio::test]
async fn a_statement_over_the_limit_ends_a_bulk_write_after_the_preceding_statements() {
    let (server, client, _) = limited().await;
    let things: Collection<Document> = client.database("d").collection("things");
    let update = |value: String| WriteModel::update_one(doc! {}, doc! { "$set": { "a": value } });
    server.answer(doc! { "ok": 1, "n": 1, "nModified": 1 });
    let models = [update(String::new()), update(large()), update(String::new())];
    let error = things
        .bulk_write(models)
        .await
        .expect_err("the second is too large");
    let ErrorKind::BulkWrite(bulk) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!((bulk.matched_count, bulk.modified_count), (1, 1));
    expect_rejection(bulk.interrupted_by.as_ref().expect("the error"), LIMIT);
    assert_eq!(server.commands().len(), 2, "the first ping, and one update");
}

/// The limits in the hello reply apply to requests, not to replies.
#[tokio::test]
async fn the_hello_reply_does_not_change_the_limit_of_replies() {
    let server = AnsweringServer::start(doc! { "maxMessageSizeBytes": i32::MAX }).await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let database = client.database("d");
    for length in [48_000_001, i32::MAX] {
        server.answer_with_length(length);
        let error = database
            .run_command(doc! { "x": 1 })
            .await
            .expect_err("the reply is too long");
        assert!(matches!(error.kind(), ErrorKind::Protocol(_)), "{error}");
        assert!(error.to_string().contains("48000000"), "{error}");
    }
}

/// The limit concerns the message before compression (Wire Compression specification).
#[tokio::test]
async fn compression_does_not_raise_the_limit() {
    let server = TestServer::builder().start().await.expect("a server");
    for compressors in ["", "compressors=zlib"] {
        let uri = format!("{}?{compressors}&maxPoolSize=1", server.uri());
        let client = Client::connect(uri).await.expect("a client");
        let things: Collection<Document> = client.database("d").collection("things");
        let large = Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![0; 48_000_000],
        };
        let error = things
            .find_one(doc! { "a": large })
            .await
            .expect_err("the message is too large");
        expect_rejection(&error, 48_000_000);
        assert_eq!(server.commands_seen("find"), 0);
        let id = doc! { "_id": compressors };
        things.insert_one(&id).await.expect("the client works");
    }
}
