//! Allocations per operation on the hot path. The counts do not depend on the load of the machine.

use std::{sync::mpsc, thread};

use futures_util::StreamExt;
use marula_driver::{
    Client,
    bson::{RawDocumentBuf, doc},
};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};
use tokio::{runtime, sync::oneshot};

/// About 270 bytes as BSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    #[serde(rename = "_id")]
    id: i64,
    customer: String,
    status: String,
    total: f64,
    quantity: i32,
    paid: bool,
    note: String,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    sku: String,
    quantity: i32,
    price: f64,
}

fn order(id: i64) -> Order {
    let line = |sku: &str| Line {
        sku: sku.into(),
        quantity: 2,
        price: 9.99,
    };
    Order {
        id,
        customer: "customer-0000-1111-2222".into(),
        status: "open".into(),
        total: 19.98,
        quantity: 4,
        paid: false,
        note: "leave it at the door, please".into(),
        lines: vec![line("sku-1"), line("sku-2")],
    }
}

/// A server in its own thread. The allocations of that thread are not counted.
pub(crate) struct ServerThread {
    pub(crate) uri: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl ServerThread {
    pub(crate) fn start(replica_set: bool) -> Self {
        let (started, uri) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let builder = TestServer::builder();
                let builder = if replica_set {
                    builder.replica_set()
                } else {
                    builder.standalone()
                };
                let server = builder.start().await.expect("the server starts");
                started.send(server.uri()).expect("the test waits");
                let _ = stopped.await;
            });
        });
        Self {
            uri: uri.recv().expect("a server"),
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const WARM_UP: i64 = 50;
const ROUNDS: i64 = 400;

/// Allocations and bytes per call after a warm-up.
fn measure(runtime: &runtime::Runtime, mut round: impl AsyncFnMut(i64)) -> (f64, f64) {
    runtime.block_on(async {
        for n in 0..WARM_UP {
            round(n).await;
        }
    });
    let counted = allocation_counter::measure(|| {
        runtime.block_on(async {
            for n in WARM_UP..WARM_UP + ROUNDS {
                round(n).await;
            }
        });
    });
    (
        counted.count_total as f64 / ROUNDS as f64,
        counted.bytes_total as f64 / ROUNDS as f64,
    )
}

/// Checks the allocations and bytes per operation against their ceilings, which are slightly above
/// the measured values.
fn check(what: &str, (count, bytes): (f64, f64), ceiling: f64, ceiling_bytes: f64) {
    println!("{what}: {count:.2} allocations, {bytes:.0} bytes");
    assert!(
        count <= ceiling,
        "{what}: {count:.2} allocations per operation, the ceiling is {ceiling}"
    );
    assert!(
        bytes <= ceiling_bytes,
        "{what}: {bytes:.0} bytes per operation, the ceiling is {ceiling_bytes}"
    );
}

/// Measures with options such as `compressors=zstd&`. They do not change the counts, because each
/// connection reuses its compressors.
fn measure_operations(replica_set: bool, options: &str) {
    let server = ServerThread::start(replica_set);
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let kind = if replica_set { "replica set" } else { "standalone" };
    let kind = format!("{kind} {options}");
    let joint = if server.uri.contains('?') { '&' } else { '?' };
    // The checks of the monitors allocate too, and a busy machine would have time for some.
    let uri = format!("{}{joint}{options}heartbeatFrequencyMS=600000", server.uri);
    let client = runtime.block_on(Client::connect(uri)).expect("a client");
    let admin = client.database("admin");
    let orders = client.database("shop").collection::<Order>("orders");

    let ping = marula_driver::bson::to_raw_document(&doc! { "ping": 1 }).expect("a document");
    let pings = measure(&runtime, async |_| {
        admin
            .run_command(&ping)
            .with_type::<RawDocumentBuf>()
            .await
            .expect("a reply");
    });
    let inserts = measure(&runtime, async |n| {
        orders.insert_one(&order(n)).await.expect("stored");
    });
    let made = measure(&runtime, async |n| {
        std::hint::black_box(order(n));
    });
    let finds = measure(&runtime, async |n| {
        let filter = marula_driver::bson::rawdoc! { "_id": n };
        let found: Option<Order> = orders.find_one(filter).await.expect("a reply");
        assert_eq!(found.map(|order| order.id), Some(n));
    });
    // The allocations of the test itself are excluded.
    let inserts = (inserts.0 - made.0, inserts.1 - made.1);
    check(&format!("ping, {kind}"), pings, 3.5, 1_200.0);
    check(&format!("insert_one, {kind}"), inserts, 2.5, 1_100.0);
    // The document takes eight allocations, the filter two.
    check(&format!("find_one, {kind}"), finds, 11.5, 1_500.0);
}

#[test]
fn operations_on_a_standalone_stay_below_the_ceilings() {
    let _alone = crate::lock_process();
    measure_operations(false, "");
}

#[test]
fn operations_on_a_replica_set_stay_below_the_ceilings() {
    let _alone = crate::lock_process();
    measure_operations(true, "");
}

#[test]
fn compression_does_not_raise_the_ceilings() {
    let _alone = crate::lock_process();
    for compressor in ["snappy", "zlib", "zstd"] {
        measure_operations(false, &format!("compressors={compressor}&"));
    }
}

/// The getMore of a stream runs in a task.
#[test]
fn batches_of_cursors_stay_below_the_ceilings() {
    let _alone = crate::lock_process();
    let server = ServerThread::start(false);
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let uri = format!(
        "{}/?heartbeatFrequencyMS=600000",
        server.uri.trim_end_matches('/')
    );
    let client = runtime.block_on(Client::connect(uri)).expect("a client");
    let things = client.database("shop").collection::<RawDocumentBuf>("things");
    let all: Vec<_> = (0..10 * (WARM_UP + ROUNDS + 1))
        .map(|n| marula_driver::bson::rawdoc! { "_id": n })
        .collect();
    let open = || runtime.block_on(async { things.find(doc! {}).batch_size(10).await.expect("a cursor") });
    runtime.block_on(async { things.insert_many(&all).await.expect("stored") });
    let mut cursor = open();
    let advanced = measure(&runtime, async |_| {
        for _ in 0..10 {
            assert!(cursor.advance().await.expect("a document"));
        }
    });
    let mut stream = open().with_type::<RawDocumentBuf>();
    let streamed = measure(&runtime, async |_| {
        for _ in 0..10 {
            let document = stream.next().await.expect("a document").expect("no error");
            std::hint::black_box(document);
        }
    });
    check("a batch of 10 with advance", advanced, 6.5, 1_500.0);
    // Each document is one allocation.
    check("a batch of 10 of a stream", streamed, 18.5, 3_300.0);
}
