//! Replies that would exhaust memory or stack, or that are malformed at depth: each is reported as
//! a typed error, and the connection is closed.

use std::{sync::mpsc, thread, time::Duration};

use marula_driver::{
    Client, Error, ErrorKind,
    bson::{Bson, Document, RawDocumentBuf, doc, exact, to_vec},
};
use marula_driver_tests::{Fault, MisbehavingServer};
use serde::Deserialize;
use tokio::{runtime, sync::oneshot};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The default stack size of threads and of tokio's worker threads.
const STACK: usize = 2 << 20;

async fn connect(server: &MisbehavingServer) -> Client {
    Client::connect(server.uri("maxPoolSize=1"))
        .await
        .expect("a client")
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIME_LIMIT, future).await.expect("no hang")
}

/// A document with this many levels of nesting; the outermost has `ok: 1`.
fn nested(levels: usize, array: bool) -> Vec<u8> {
    let mut bytes = vec![5, 0, 0, 0, 0];
    for level in (1..levels).rev() {
        let mut outer = vec![0; 4];
        if level == 1 {
            outer.extend(b"\x10ok\0\x01\0\0\0");
        }
        outer.push(if array && level > 1 { 4 } else { 3 });
        outer.extend(b"0\0");
        outer.extend(&bytes);
        outer.push(0);
        let length = i32::try_from(outer.len()).expect("small");
        outer[..4].copy_from_slice(&length.to_le_bytes());
        bytes = outer;
    }
    bytes
}

/// A reply with a cursor whose first batch consists of these bytes.
fn cursor_of(documents: &[&[u8]]) -> Vec<u8> {
    let mut body = to_vec(&doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "a.b", "firstBatch": [] } })
        .expect("a document");
    // After the empty array, the cursor and the body end.
    let at = body.len() - 2 - 5;
    let mut batch = vec![0; 4];
    for (index, document) in documents.iter().enumerate() {
        batch.push(3);
        batch.extend(index.to_string().bytes());
        batch.push(0);
        batch.extend(*document);
    }
    batch.push(0);
    let grown = i32::try_from(batch.len() - 5).expect("small");
    batch[..4].copy_from_slice(&(grown + 5).to_le_bytes());
    body.splice(at..at + 5, batch);
    let cursor = body
        .windows(8)
        .position(|bytes| bytes == b"\x03cursor\0")
        .expect("the field")
        + 8;
    for at in [0, cursor] {
        let length = i32::from_le_bytes(*body[at..].first_chunk().expect("a length"));
        body[at..at + 4].copy_from_slice(&(length + grown).to_le_bytes());
    }
    body
}

/// Runs a server with this fault in another thread and the test in this one, so that the memory of
/// the test can be measured.
fn with_server_thread<T>(fault: Fault, test: impl FnOnce(&runtime::Runtime, String) -> T) -> T {
    let (started, uri) = mpsc::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let single = || {
        runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
    };
    let server = thread::spawn(move || {
        single().block_on(async {
            let server = MisbehavingServer::start(fault).await;
            started.send(server.uri("maxPoolSize=1")).expect("the test waits");
            let _ = stopped.await;
        });
    });
    let outcome = test(&single(), uri.recv().expect("a server"));
    drop(stop);
    server.join().expect("no panic");
    outcome
}

#[test]
fn memory_is_allocated_for_received_bytes_not_for_the_announced_length() {
    for sent in [0, 100, 300 << 10] {
        let claim = Fault::Claim {
            length: 47_000_000,
            sent,
        };
        with_server_thread(claim, |runtime, uri| {
            let mut outcome = None;
            let counted = allocation_counter::measure(|| {
                outcome = Some(runtime.block_on(in_time(async {
                    let client = Client::connect(uri).await.expect("a client");
                    client.database("admin").run_command(doc! { "ping": 1 }).await
                })));
            });
            let error = outcome.expect("an outcome").expect_err("the reply was truncated");
            assert!(error.is_network(), "{error}");
            assert!(
                counted.bytes_max < 4 << 20,
                "{} bytes for {sent}",
                counted.bytes_max
            );
        });
    }
}

/// Reads the nested reply as each kind of type, in a thread with a small stack.
fn read_deep(levels: usize, array: bool) -> Vec<(&'static str, Result<(), Error>)> {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(rename = "0", with = "exact")]
        _deep: Bson,
    }
    #[derive(Deserialize)]
    struct Partial {
        ok: i32,
    }
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(in_time(async {
            let body = nested(levels, array);
            // The element is two levels deeper here; documents of a batch are counted from their
            // own outermost level.
            let batch = cursor_of(&[&body]);
            let replies = MisbehavingServer::start(Fault::Body(body)).await;
            let batches = MisbehavingServer::start(Fault::Body(batch)).await;
            let (replying, batching) = (connect(&replies).await, connect(&batches).await);
            let admin = replying.database("a");
            let ping = doc! { "ping": 1 };
            let things = batching.database("a").collection::<Document>("b");
            let typed = things.clone_with_type::<Typed>();
            let raw = admin.run_command(&ping).with_type::<RawDocumentBuf>().await;
            raw.expect("raw documents have no nesting limit");
            let partial = admin.run_command(&ping).with_type::<Partial>().await;
            assert_eq!(partial.expect("the deep field is not read").ok, 1);
            vec![
                ("run_command", admin.run_command(&ping).await.map(drop)),
                (
                    "run_command, typed",
                    admin.run_command(&ping).with_type::<Typed>().await.map(drop),
                ),
                ("find_one", things.find_one(doc! {}).await.map(drop)),
                ("find_one, typed", typed.find_one(doc! {}).await.map(drop)),
                (
                    "find",
                    things
                        .find(doc! {})
                        .await
                        .expect("a cursor")
                        .try_next()
                        .await
                        .map(drop),
                ),
                (
                    "find, typed",
                    typed
                        .find(doc! {})
                        .await
                        .expect("a cursor")
                        .try_next()
                        .await
                        .map(drop),
                ),
            ]
        }))
    });
    thread.expect("a thread").join().expect("no panic")
}

#[test]
fn replies_with_more_than_200_levels_are_errors() {
    for array in [false, true] {
        for (name, outcome) in read_deep(201, array) {
            let error = outcome.expect_err(name);
            assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{name}: {error}");
            assert!(error.to_string().contains("200"), "{name}: {error}");
        }
        for (name, outcome) in read_deep(200, array) {
            outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        // Far beyond the limit, so that a late check would overflow the stack.
        for (name, outcome) in read_deep(20_000, array) {
            assert!(
                matches!(outcome.expect_err(name).kind(), ErrorKind::Decode(_)),
                "{name}"
            );
        }
    }
}

/// Reads a document with this many levels in a worker thread.
async fn read_in_worker<T>(levels: usize) -> Result<(), Error>
where
    T: serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let server = MisbehavingServer::start(Fault::Body(cursor_of(&[&nested(levels, false)]))).await;
    let things = connect(&server).await.database("a").collection::<T>("b");
    let reading = async move { things.find_one(doc! {}).await.map(drop) };
    in_time(tokio::spawn(reading)).await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn deep_documents_are_read_into_fields_in_worker_threads() {
    #[derive(Deserialize)]
    struct Exact {
        #[serde(rename = "0", with = "exact")]
        _deep: Bson,
    }
    #[derive(Deserialize)]
    struct Plain {
        #[serde(rename = "0")]
        _deep: Bson,
    }
    read_in_worker::<Exact>(200)
        .await
        .expect("200 levels are permitted");
    read_in_worker::<Plain>(101)
        .await
        .expect("100 levels of the field are permitted");
    for levels in [102, 196, 200] {
        let error = read_in_worker::<Plain>(levels).await.expect_err("too deep");
        assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{error}");
        assert!(error.to_string().contains("deeper than 100 levels"), "{error}");
    }
}

#[tokio::test]
async fn a_malformed_document_of_a_batch_does_not_affect_the_others() {
    let good = |id: i32| to_vec(&doc! { "_id": id, "name": "x" }).expect("a document");
    let mut bad_text = good(2);
    let at = bad_text.len() - 3;
    bad_text[at] = 0xFF;
    let mut bad_element = good(2);
    bad_element[4] = 0x55;
    for broken in [bad_text, bad_element] {
        let body = cursor_of(&[&good(1), &broken, &good(3)]);
        let server = MisbehavingServer::start(Fault::Body(body)).await;
        let things = connect(&server).await.database("a").collection::<Document>("b");
        let mut cursor = in_time(things.find(doc! {}).into_future())
            .await
            .expect("a cursor");
        let ids = |found: Option<Document>| found.map(|d| d.get_i32("_id").expect("an id"));
        assert_eq!(ids(cursor.try_next().await.expect("whole")), Some(1));
        let error = cursor.try_next().await.expect_err("broken");
        assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{error}");
        assert_eq!(ids(cursor.try_next().await.expect("whole")), Some(3));
        assert_eq!(ids(cursor.try_next().await.expect("the end")), None);
        assert!(cursor.is_exhausted());
    }
}

#[tokio::test]
async fn a_batch_with_a_malformed_structure_ends_the_cursor() {
    let good = to_vec(&doc! { "_id": 1 }).expect("a document");
    let mut long = good.clone();
    long[0] = 0x7F;
    let body = cursor_of(&[&good, &long, &good]);
    let server = MisbehavingServer::start(Fault::Body(body)).await;
    let things = connect(&server).await.database("a").collection::<Document>("b");
    let mut cursor = in_time(things.find(doc! {}).into_future())
        .await
        .expect("a cursor");
    assert!(cursor.try_next().await.expect("whole").is_some());
    let error = cursor.try_next().await.expect_err("the next document has no end");
    assert!(
        matches!(error.kind(), ErrorKind::Decode(_) | ErrorKind::InvalidReply(_)),
        "{error}"
    );
    assert!(cursor.try_next().await.expect("the end").is_none());
}

/// Runs a command run_twice with a pool of one connection. Returns the errors and the number of
/// connections that the commands used.
async fn run_twice(body: Vec<u8>) -> (Vec<Error>, usize) {
    let server = MisbehavingServer::start(Fault::Body(body)).await;
    let client = connect(&server).await;
    let admin = client.database("admin");
    let mut errors = Vec::new();
    for _ in 0..2 {
        let reply = in_time(admin.run_command(doc! { "ping": 1 }).into_future()).await;
        errors.push(reply.expect_err("a malformed reply"));
    }
    (errors, server.connections() - 1)
}

#[tokio::test]
async fn a_connection_with_an_invalid_bson_reply_is_closed() {
    let whole = to_vec(&doc! { "ok": 1, "text": "abc", "x": { "y": "abc" } }).expect("a document");
    let place = |text: &[u8]| {
        whole
            .windows(text.len())
            .position(|bytes| bytes == text)
            .expect("there")
    };
    let mut bad_key = whole.clone();
    bad_key[place(b"text")] = 0xFF;
    let mut bad_nested = whole.clone();
    bad_nested[place(b"y\0\x04\0\0\0abc") + 2] = 0x44;
    let mut bad_length = whole.clone();
    bad_length[0] += 1;
    let mut bad_end = whole.clone();
    *bad_end.last_mut().expect("a byte") = 1;
    let mut bad_type = whole.clone();
    bad_type[4] = 0x66;
    for (name, body) in [
        ("key", bad_key),
        ("nested length", bad_nested),
        ("length", bad_length),
        ("end", bad_end),
        ("type", bad_type),
    ] {
        let (errors, connections) = run_twice(body).await;
        for error in &errors {
            let typed = matches!(error.kind(), ErrorKind::Decode(_) | ErrorKind::Protocol(_));
            assert!(typed && error.address().is_some(), "{name}: {error}");
        }
        assert!(connections >= 2, "{name}: the connection was reused");
    }
}

/// A stored document may contain such a string. If the connection were closed, each read of the
/// document would need a new one.
#[tokio::test]
async fn a_connection_with_a_reply_whose_data_cannot_be_decoded_is_kept() {
    let mut bad_text = to_vec(&doc! { "ok": 1, "x": [{ "y": "abc" }] }).expect("a document");
    let place = bad_text.windows(3).position(|bytes| bytes == b"abc");
    bad_text[place.expect("the text")] = 0xFF;
    for (name, body) in [("text", bad_text), ("depth", nested(201, false))] {
        let (errors, connections) = run_twice(body).await;
        for error in &errors {
            let typed = matches!(error.kind(), ErrorKind::Decode(_));
            assert!(typed && error.address().is_some(), "{name}: {error}");
        }
        assert_eq!(connections, 1, "{name}");
    }
}

#[tokio::test]
async fn a_connection_with_a_reply_of_another_type_is_kept() {
    #[derive(Debug, Deserialize)]
    struct Other {
        #[expect(dead_code, reason = "never read")]
        missing: i32,
    }
    let server = MisbehavingServer::start(Fault::Reply(doc! { "ok": 1 })).await;
    let admin = connect(&server).await.database("admin");
    for _ in 0..3 {
        let reply = admin
            .run_command(doc! { "ping": 1 })
            .with_type::<Other>()
            .into_future();
        let error = in_time(reply).await.expect_err("a field is missing");
        assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{error}");
    }
    assert_eq!(server.connections(), 2, "one of the pool and one of the monitor");
}

#[tokio::test]
async fn bytes_after_a_reply_are_not_read_as_the_next_reply() {
    // Even if the bytes are a valid reply.
    let next = marula_driver_tests::reply_to(3, &doc! { "ok": 1, "forged": true });
    for surplus in [vec![0], next] {
        let server = MisbehavingServer::start(Fault::Surplus(surplus)).await;
        let admin = connect(&server).await.database("admin");
        for round in 1..=3 {
            let reply = in_time(admin.run_command(doc! { "ping": 1 }).into_future())
                .await
                .expect("a reply");
            assert!(!reply.contains_key("forged"), "round {round}");
            assert_eq!(
                server.connections(),
                1 + round,
                "one per round and one of the monitor"
            );
        }
    }
}
