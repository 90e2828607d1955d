//! The prose tests of the OP_MSG specification, with a wire tap.

use marula_driver::{
    Client, Collection, WriteModel,
    bson::{Document, doc},
};
use marula_driver_tests::tap::{OP_MSG, Tapped, WireTap};
use marula_test_server::TestServer;

struct Tap {
    tap: WireTap,
    things: Collection<Document>,
    _server: TestServer,
}

async fn tapped() -> Tap {
    let server = TestServer::builder()
        .standalone()
        .start()
        .await
        .expect("the server starts");
    let tap = WireTap::start(server.addresses()[0]).await;
    // A command with a hundred thousand updates takes long, and must not time out.
    let options = "serverMonitoringMode=poll&heartbeatFrequencyMS=3600000";
    let client = Client::connect(tap.uri(options)).await.expect("a client");
    Tap {
        tap,
        things: client.database("d").collection("c"),
        _server: server,
    }
}

/// Checks that the documents of each command are in one sequence of this name and not in the body.
/// Returns their numbers.
fn sequences(commands: &[Tapped], command: &str, name: &str) -> Vec<usize> {
    let mut counts = Vec::new();
    for tapped in commands {
        assert_eq!((tapped.opcode, tapped.compressor), (OP_MSG, None));
        assert_eq!(tapped.command(), command);
        assert!(!tapped.body.contains_key(name), "{}", tapped.body);
        assert_eq!(tapped.sequences.len(), 1);
        assert_eq!(tapped.sequences[0].0, name);
        counts.push(tapped.sequences[0].1);
    }
    counts
}

#[tokio::test]
async fn message_prose_1_one_document() {
    let Tap { tap, things, _server } = tapped().await;
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    assert_eq!(sequences(&tap.take_commands(), "insert", "documents"), [1]);
    assert_eq!(things.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }));
}

#[tokio::test]
async fn message_prose_2_two_documents() {
    let Tap { tap, things, _server } = tapped().await;
    things
        .insert_many(&[doc! { "_id": 1 }, doc! { "_id": 2 }])
        .await
        .unwrap();
    assert_eq!(sequences(&tap.take_commands(), "insert", "documents"), [2]);
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 2);
}

#[tokio::test]
async fn message_prose_3_batches_have_the_size_of_the_servers_limit() {
    let Tap { tap, things, _server } = tapped().await;
    let many: Vec<Document> = (0..100_001).map(|n| doc! { "_id": n }).collect();
    things.insert_many(&many).await.unwrap();
    assert_eq!(
        sequences(&tap.take_commands(), "insert", "documents"),
        [100_000, 1]
    );
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 100_001);
}

#[tokio::test]
async fn message_prose_4_updates_and_deletes() {
    let Tap { tap, things, _server } = tapped().await;
    let many: Vec<Document> = (0..100_001).map(|n| doc! { "_id": n }).collect();
    things.insert_many(&many).await.unwrap();
    let _ = tap.take_commands();
    for count in [1, 2, 100_001] {
        let set = |n: i32| WriteModel::update_one(doc! { "_id": n }, doc! { "$set": { "x": count } });
        things.bulk_write((0..count).map(set)).await.unwrap();
        let expected = if count > 100_000 {
            vec![100_000, 1]
        } else {
            vec![count as usize]
        };
        assert_eq!(sequences(&tap.take_commands(), "update", "updates"), expected);
        assert_eq!(
            things.count_documents(doc! { "x": count }).await.unwrap(),
            count as u64
        );
        let _ = tap.take_commands();
    }
    let mut left = 100_001;
    for count in [1, 2, 99_998] {
        let remove = |n: i32| WriteModel::delete_one(doc! { "_id": n });
        things.bulk_write((left - count..left).map(remove)).await.unwrap();
        left -= count;
        assert_eq!(
            sequences(&tap.take_commands(), "delete", "deletes"),
            [count as usize]
        );
        assert_eq!(things.count_documents(doc! {}).await.unwrap(), left as u64);
        let _ = tap.take_commands();
    }
}

#[tokio::test]
async fn message_prose_5_a_small_and_a_large_document_take_one_round_trip() {
    let Tap { tap, things, _server } = tapped().await;
    let overhead = marula_driver::bson::to_vec(&doc! { "_id": 2, "x": "" })
        .unwrap()
        .len();
    let large = "a".repeat((16 << 20) - overhead);
    things
        .insert_many(&[doc! { "_id": 1 }, doc! { "_id": 2, "x": &large }])
        .await
        .unwrap();
    assert_eq!(sequences(&tap.take_commands(), "insert", "documents"), [2]);
    let replaced = "b".repeat(large.len());
    things
        .bulk_write([
            WriteModel::replace_one(doc! { "_id": 1 }, &doc! { "x": 1 }),
            WriteModel::replace_one(doc! { "_id": 2 }, &doc! { "x": &replaced }),
        ])
        .await
        .unwrap();
    assert_eq!(sequences(&tap.take_commands(), "update", "updates"), [2]);
    let found = things.find_one(doc! { "_id": 2 }).await.unwrap().unwrap();
    assert!(found.get_str("x").unwrap() == replaced);
    let _ = tap.take_commands();
    things
        .bulk_write([
            WriteModel::delete_one(doc! { "_id": 1 }),
            WriteModel::delete_one(doc! { "x": &replaced[..replaced.len() - 200] }),
        ])
        .await
        .unwrap();
    assert_eq!(sequences(&tap.take_commands(), "delete", "deletes"), [2]);
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 1);
}
