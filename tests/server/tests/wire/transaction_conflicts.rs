//! Write conflicts of transactions, non-transactional writes that wait for a transaction, and the
//! fail point `onPrimaryTransactionalWrite`.

use crate::client::{Client, code, on, replica_set};
use bson::{Document, doc};
use marula_test_server::TestServer;

async fn primary(server: &TestServer) -> Client {
    Client::connect(server.primary().unwrap()).await
}

fn within(session: bson::Uuid, first: bool, mut body: Document) -> Document {
    body.extend(doc! {"lsid": {"id": session}, "txnNumber": 1_i64, "autocommit": false});
    if first {
        body.insert("startTransaction", true);
    }
    on("db", body)
}

fn end(session: bson::Uuid, name: &str) -> Document {
    let mut body = within(session, false, doc! {name: 1});
    body.insert("$db", "admin");
    body
}

fn set(id: i32, x: i32) -> Document {
    doc! {"update": "c", "updates": [{"q": {"_id": id}, "u": {"$set": {"x": x}}}]}
}

async fn x_of(client: &mut Client, id: i32) -> i32 {
    let reply = client
        .run(on("db", doc! {"find": "c", "filter": {"_id": id}}))
        .await;
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    batch[0].as_document().unwrap().get_i32("x").unwrap()
}

#[tokio::test]
async fn non_transactional_writes_wait_for_transactions() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    client
        .run(on(
            "db",
            doc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]},
        ))
        .await;
    let session = bson::Uuid::new();
    assert_eq!(code(&client.run(within(session, true, set(1, 10))).await), 0);
    // The write times out while it waits, and has no effect.
    let mut limited = set(1, 20);
    limited.insert("maxTimeMS", 50);
    assert_eq!(code(&client.run(on("db", limited)).await), 50);
    for blocked in [doc! {"drop": "c"}, doc! {"dropDatabase": 1}] {
        let mut limited = blocked;
        limited.insert("maxTimeMS", 50);
        assert_eq!(code(&client.run(on("db", limited)).await), 50);
    }
    // Writes to other documents do not wait.
    assert_eq!(code(&client.run(on("db", set(2, 20))).await), 0);
    let mut waiting = primary(&server).await;
    let seen = server.commands_seen("update");
    waiting.send(0, &on("db", set(1, 30))).await;
    server.wait_for_command("update", seen + 1).await;
    assert_eq!(code(&client.run(end(session, "commitTransaction")).await), 0);
    let reply = waiting.receive().await.unwrap().body;
    assert_eq!((code(&reply), reply.get_i32("nModified").unwrap()), (0, 1));
    assert_eq!(x_of(&mut client, 1).await, 30, "after the commit");
    assert_eq!(x_of(&mut client, 2).await, 20);
}

#[tokio::test]
async fn non_transactional_inserts_of_the_same_id_wait_and_then_conflict() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    client
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 0}]}))
        .await;
    let insert = || doc! {"insert": "c", "documents": [{"_id": 1, "x": 1}]};
    for (ending, expected) in [("abortTransaction", 0), ("commitTransaction", 11000)] {
        client
            .run(on(
                "db",
                doc! {"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]},
            ))
            .await;
        let session = bson::Uuid::new();
        assert_eq!(code(&client.run(within(session, true, insert())).await), 0);
        let mut waiting = primary(&server).await;
        let seen = server.commands_seen("insert");
        waiting.send(0, &on("db", insert())).await;
        server.wait_for_command("insert", seen + 1).await;
        assert_eq!(code(&client.run(end(session, ending)).await), 0);
        let reply = waiting.receive().await.unwrap().body;
        let conflict = reply.get_array("writeErrors").map_or(0, |errors| {
            errors[0].as_document().unwrap().get_i32("code").unwrap()
        });
        assert_eq!(conflict, expected, "{ending}: {reply}");
    }
}

#[tokio::test]
async fn a_retryable_write_that_waited_is_executed_once() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    client
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1, "x": 0}]}))
        .await;
    let session = bson::Uuid::new();
    client.run(within(session, true, set(1, 10))).await;
    let mut increment = on(
        "db",
        doc! {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"x": 1}}}]},
    );
    increment.extend(doc! {"lsid": {"id": bson::Uuid::new()}, "txnNumber": 7_i64});
    let mut waiting = primary(&server).await;
    let seen = server.commands_seen("update");
    waiting.send(0, &increment).await;
    server.wait_for_command("update", seen + 1).await;
    client.run(end(session, "commitTransaction")).await;
    assert_eq!(
        waiting
            .receive()
            .await
            .unwrap()
            .body
            .get_i32("nModified")
            .unwrap(),
        1
    );
    let again = client.run(increment).await;
    assert_eq!(again.get_array("retriedStmtIds").unwrap().len(), 1);
    assert_eq!(x_of(&mut client, 1).await, 11);
}

#[tokio::test]
async fn unique_keys_belong_to_the_first_transaction() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    let index = doc! {"createIndexes": "c", "indexes": [{"key": {"k": 1}, "name": "k_1", "unique": true}]};
    client.run(on("db", index)).await;
    let (first, second) = (bson::Uuid::new(), bson::Uuid::new());
    let insert = |id: i32| doc! {"insert": "c", "documents": [{"_id": id, "k": 1}]};
    assert_eq!(code(&client.run(within(first, true, insert(1))).await), 0);
    let conflict = client.run(within(second, true, insert(2))).await;
    assert_eq!(code(&conflict), 112);
    assert_eq!(
        conflict.get_array("errorLabels").unwrap(),
        &vec!["TransientTransactionError".into()]
    );
    assert_eq!(code(&client.run(end(first, "commitTransaction")).await), 0);
    assert_eq!(code(&client.run(end(second, "commitTransaction")).await), 251);
}

#[tokio::test]
async fn the_first_write_error_aborts_the_transaction() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    client
        .run(on(
            "db",
            doc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]},
        ))
        .await;
    let session = bson::Uuid::new();
    let insert = doc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}], "ordered": false};
    let reply = client.run(within(session, true, insert)).await;
    assert_eq!(reply.get_array("writeErrors").unwrap().len(), 1);
    assert_eq!(reply.get_i32("n").unwrap(), 0);
    assert_eq!(code(&client.run(end(session, "commitTransaction")).await), 251);
}

/// A server that aborts transactions after one second, with one document.
async fn with_short_transactions() -> (TestServer, Client) {
    let server = TestServer::builder()
        .replica_set()
        .parameter("transactionLifetimeLimitSeconds", 1)
        .start()
        .await
        .unwrap();
    let mut client = primary(&server).await;
    client
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1}]}))
        .await;
    (server, client)
}

#[tokio::test]
async fn transactions_are_aborted_after_their_lifetime_limit() {
    let (_server, mut client) = with_short_transactions().await;
    let session = bson::Uuid::new();
    client.run(within(session, true, set(1, 10))).await;
    assert_eq!(
        code(&client.run(on("db", set(1, 20))).await),
        0,
        "the write waits and then succeeds"
    );
    assert_eq!(code(&client.run(end(session, "commitTransaction")).await), 251);
    assert_eq!(x_of(&mut client, 1).await, 20);
}

#[tokio::test]
async fn a_transaction_does_not_conflict_with_an_expired_one() {
    let (server, mut client) = with_short_transactions().await;
    let expired = bson::Uuid::new();
    client.run(within(expired, true, set(1, 10))).await;
    assert_eq!(server.open_transactions(), [(expired.to_string(), 1)]);
    let session = loop {
        let session = bson::Uuid::new();
        let reply = client.run(within(session, true, set(1, 20))).await;
        match code(&reply) {
            0 => break session,
            conflict => assert_eq!(conflict, 112, "{reply}"),
        }
    };
    assert_eq!(server.open_transactions(), [(session.to_string(), 1)]);
    assert_eq!(code(&client.run(end(session, "commitTransaction")).await), 0);
    assert!(server.open_transactions().is_empty());
    assert_eq!(x_of(&mut client, 1).await, 20);
}

#[tokio::test]
async fn on_primary_transactional_write_counts_storage_transactions() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    client
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 0, "x": 0}]}))
        .await;
    let point = |mode: Document, data: Document| {
        on(
            "admin",
            doc! {"configureFailPoint": "onPrimaryTransactionalWrite", "mode": mode, "data": data},
        )
    };
    let count = async |client: &mut Client| {
        let reply = client.run(on("db", doc! {"count": "c"})).await;
        reply.get_i32("n").unwrap()
    };
    // Large documents are inserted individually: the fourth insert fails.
    let before = doc! {"failBeforeCommitExceptionCode": 100_001, "closeConnection": true};
    client.run(point(doc! {"skip": 3}, before)).await;
    let text = "x".repeat(300 * 1024);
    let documents: Vec<Document> = (1..=5).map(|id| doc! {"_id": id, "text": &text}).collect();
    let mut body = on("db", doc! {"insert": "c", "documents": documents});
    body.extend(doc! {"lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64});
    client.send(0, &body).await;
    assert!(client.receive().await.is_none());
    let mut client = primary(&server).await;
    assert_eq!(count(&mut client).await, 1 + 3);
    client
        .run(on(
            "admin",
            doc! {"configureFailPoint": "onPrimaryTransactionalWrite", "mode": "off"},
        ))
        .await;
    let reply = client.run(body).await;
    assert_eq!(reply.get_array("retriedStmtIds").unwrap().len(), 3);
    assert_eq!(count(&mut client).await, 1 + 5);
    // A findAndModify that fails before the commit has no effect.
    let failing = doc! {"failBeforeCommitExceptionCode": 1, "closeConnection": false};
    client.run(point(doc! {"times": 1}, failing)).await;
    let mut modify = on(
        "db",
        doc! {"findAndModify": "c", "query": {"_id": 0}, "update": {"$inc": {"x": 5}}},
    );
    modify.extend(doc! {"lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64});
    assert_eq!(code(&client.run(modify).await), 1);
    assert_eq!(x_of(&mut client, 0).await, 0);
    // Updates are counted individually: the second one is executed and its reply is lost.
    client.run(point(doc! {"skip": 1}, doc! {})).await;
    let increment = doc! {"q": {"_id": 0}, "u": {"$inc": {"x": 1}}};
    let updates = vec![increment.clone(), increment.clone(), increment];
    let mut body = on("db", doc! {"update": "c", "updates": updates});
    body.extend(doc! {"lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64});
    client.send(0, &body).await;
    assert!(client.receive().await.is_none());
    let mut client = primary(&server).await;
    assert_eq!(x_of(&mut client, 0).await, 2);
}
