//! Transactions, snapshot reads and session state.

use crate::client::{Client, code, on, replica_set};
use bson::{Bson, Document, doc};
use marula_test_server::{TestServer, ViolationKind};

struct Session {
    id: bson::Uuid,
    number: i64,
}

impl Session {
    fn new() -> Session {
        Session {
            id: bson::Uuid::new(),
            number: 1,
        }
    }

    fn begin(&self, body: Document) -> Document {
        let mut body = self.next(body);
        body.insert("startTransaction", true);
        body
    }

    fn next(&self, mut body: Document) -> Document {
        body.extend(doc! {"lsid": {"id": self.id}, "txnNumber": self.number, "autocommit": false});
        body
    }

    fn end(&self, name: &str) -> Document {
        on("admin", self.next(doc! {name: 1}))
    }
}

fn insert(id: i32) -> Document {
    on("db", doc! {"insert": "c", "documents": [{"_id": id}]})
}

fn labels(reply: &Document) -> Vec<&str> {
    reply
        .get_array("errorLabels")
        .map(|labels| labels.iter().filter_map(Bson::as_str).collect())
        .unwrap_or_default()
}

async fn count(client: &mut Client) -> i32 {
    client
        .run(on("db", doc! {"count": "c"}))
        .await
        .get_i32("n")
        .unwrap()
}

async fn primary(server: &TestServer) -> Client {
    Client::connect(server.primary().unwrap()).await
}

#[tokio::test]
async fn commits_make_all_writes_visible_and_aborts_none() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    let mut session = Session::new();
    assert_eq!(code(&client.run(session.begin(insert(1))).await), 0);
    assert_eq!(code(&client.run(session.next(insert(2))).await), 0);
    assert_eq!(
        count(&mut client).await,
        0,
        "not visible outside of the transaction"
    );
    let own = client.run(session.next(on("db", doc! {"find": "c"}))).await;
    let batch = own
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(batch.len(), 2, "visible within the transaction");
    assert_eq!(code(&client.run(session.end("commitTransaction")).await), 0);
    assert_eq!(count(&mut client).await, 2);
    assert_eq!(
        code(&client.run(session.end("commitTransaction")).await),
        0,
        "again"
    );
    assert_eq!(code(&client.run(session.end("abortTransaction")).await), 256);
    session.number = 2;
    client.run(session.begin(insert(3))).await;
    assert_eq!(code(&client.run(session.end("abortTransaction")).await), 0);
    assert_eq!(count(&mut client).await, 2);
    let aborted = client.run(session.next(insert(4))).await;
    assert_eq!(
        (code(&aborted), labels(&aborted)),
        (251, vec!["TransientTransactionError"])
    );
}

#[tokio::test]
async fn write_conflicts_abort_the_later_transaction() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    let (first, second, third) = (Session::new(), Session::new(), Session::new());
    client.run(insert(0)).await;
    client.run(first.begin(insert(1))).await;
    let conflict = client.run(second.begin(insert(1))).await;
    assert_eq!(
        (code(&conflict), labels(&conflict)),
        (112, vec!["TransientTransactionError"])
    );
    assert_eq!(code(&client.run(second.end("commitTransaction")).await), 251);
    assert_eq!(code(&client.run(first.end("commitTransaction")).await), 0);
    // A write outside of a transaction after its snapshot is also a conflict.
    client.run(third.begin(on("db", doc! {"find": "c"}))).await;
    let update = |x: i32| doc! {"update": "c", "updates": [{"q": {"_id": 0}, "u": {"$set": {"x": x}}}]};
    client.run(on("db", update(1))).await;
    let conflict = client.run(third.next(on("db", update(2)))).await;
    assert_eq!(code(&conflict), 112);
}

#[tokio::test]
async fn operations_that_transactions_reject() {
    let server = replica_set().await;
    server.allow_violations([ViolationKind::ReadConcern, ViolationKind::WriteConcern]);
    let mut client = primary(&server).await;
    let session = Session::new();
    let rejected = client.run(session.begin(on("db", doc! {"count": "c"}))).await;
    assert_eq!(code(&rejected), 263);
    let early = client.run(session.next(insert(1))).await;
    assert_eq!(code(&early), 251);
    client.run(session.begin(insert(1))).await;
    for (expected, body) in [
        (72, doc! {"find": "c", "readConcern": {"level": "local"}}),
        (
            72,
            doc! {"insert": "c", "documents": [{}], "writeConcern": {"w": 1}},
        ),
        (117, doc! {"find": "c", "startTransaction": true}),
    ] {
        let reply = client.run(session.next(on("db", body))).await;
        assert_eq!(code(&reply), expected);
    }
    // An error aborts the transaction.
    let duplicate = client.run(session.next(insert(1))).await;
    assert!(duplicate.contains_key("writeErrors"));
    assert_eq!(code(&client.run(session.end("commitTransaction")).await), 251);
}

#[tokio::test]
async fn sessions_can_be_killed_and_ended() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    for kill in [
        doc! {"killAllSessions": []},
        doc! {"killSessions": []},
        doc! {"endSessions": []},
    ] {
        let session = Session::new();
        client.run(session.begin(insert(1))).await;
        let mut kill = on("admin", kill);
        let name = kill.keys().next().unwrap().clone();
        if name != "killAllSessions" {
            kill.insert(&name, vec![Bson::Document(doc! {"id": session.id})]);
        }
        assert_eq!(code(&client.run(kill).await), 0);
        assert_eq!(
            code(&client.run(session.end("commitTransaction")).await),
            251,
            "{name}"
        );
    }
    assert_eq!(count(&mut client).await, 0);
}

#[tokio::test]
async fn a_mongos_has_only_its_own_transactions() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let mut first = Client::connect(server.addresses()[0]).await;
    let mut second = Client::connect(server.addresses()[1]).await;
    let session = Session::new();
    let reply = first.run(session.begin(insert(1))).await;
    let token = reply.get_document("recoveryToken").unwrap().clone();
    let stray = second.run(session.next(insert(2))).await;
    assert_eq!(
        (code(&stray), labels(&stray)),
        (251, vec!["TransientTransactionError"])
    );
    assert_eq!(code(&second.run(session.end("commitTransaction")).await), 50940);
    assert_eq!(code(&first.run(session.end("commitTransaction")).await), 0);
    let mut recover = session.end("commitTransaction");
    recover.insert("recoveryToken", token);
    assert_eq!(
        code(&second.run(recover).await),
        0,
        "the outcome is recovered with the recoveryToken"
    );
}

#[tokio::test]
async fn snapshot_reads_read_at_one_cluster_time() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    client.run(insert(1)).await;
    let concern = |time: Option<bson::Timestamp>| {
        let mut concern = doc! {"level": "snapshot"};
        if let Some(time) = time {
            concern.insert("atClusterTime", time);
        }
        on("db", doc! {"find": "c", "readConcern": concern})
    };
    let reply = client.run(concern(None)).await;
    let cursor = reply.get_document("cursor").unwrap();
    let time = cursor.get_timestamp("atClusterTime").unwrap();
    client.run(insert(2)).await;
    let again = client.run(concern(Some(time))).await;
    let batch = again
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(batch.len(), 1);
    let past = bson::Timestamp {
        time: 1,
        increment: 1,
    };
    assert_eq!(code(&client.run(concern(Some(past))).await), 246);
    let rejected = on("db", doc! {"count": "c", "readConcern": {"level": "snapshot"}});
    assert_eq!(code(&client.run(rejected).await), 72);
    let out = doc! {"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}, "readConcern": {"level": "snapshot"}};
    assert_eq!(code(&client.run(on("db", out)).await), 72);
}

#[tokio::test]
async fn retried_writes_after_a_lost_reply_are_executed_once() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    let point = doc! {"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"times": 1}};
    client.run(on("admin", point)).await;
    let mut body = on(
        "db",
        doc! {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"x": 1}}, "upsert": true}]},
    );
    body.extend(doc! {"lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64});
    client.send(0, &body).await;
    assert!(
        client.receive().await.is_none(),
        "executed before the connection is closed"
    );
    let mut client = primary(&server).await;
    let reply = client.run(body).await;
    assert_eq!(reply.get_i32("n").unwrap(), 1);
    assert_eq!(reply.get_array("upserted").unwrap().len(), 1);
    assert_eq!(reply.get_array("retriedStmtIds").unwrap().len(), 1);
    assert_eq!(count(&mut client).await, 1);
}
