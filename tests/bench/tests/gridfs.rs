//! Memory and throughput of a GridFS file of 300 MB, beside the same bytes as plain documents. The
//! client runs in a process of its own, so that its resident memory is measured alone.
//!
//! `cargo test --release -p marula-bench --test gridfs -- --ignored --nocapture`

use std::{
    process::Command,
    time::{Duration, Instant},
};

use marula_driver::{
    Client, Collection,
    bson::{Binary, RawDocumentBuf, rawdoc, spec::BinarySubtype},
};
use marula_test_server::TestServer;
use tokio::{
    io::{AsyncReadExt, repeat},
    runtime,
};

/// The connection string of the server, in the process of the client.
const SERVER: &str = "MARULA_BENCH_GRIDFS_SERVER";
const LENGTH: u64 = 300_000_000;
const CHUNK: usize = 255 * 1024;
/// Chunks of one insert of about 4 MiB.
const BATCH: u64 = 16;
/// How much more memory the file of 300 MB may take than one of 40 MB.
const GROWTH_LIMIT_KB: u64 = 16 * 1024;

fn runtime() -> runtime::Runtime {
    let mut builder = runtime::Builder::new_multi_thread();
    builder.enable_all().build().expect("a runtime")
}

/// `VmHWM`: the highest resident memory of this process so far, in kB. `None` except on Linux.
fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

fn report(what: &str, time: Duration) {
    let rate = LENGTH as f64 / time.as_secs_f64() / 1e6;
    println!(
        "{what:<28} {:>6.2} s {rate:>7.0} MB/s, peak memory {} kB",
        time.as_secs_f64(),
        peak_memory_kb().unwrap_or_default()
    );
}

/// Inserts and reads the bytes as documents, with messages of the size that GridFS uses.
async fn floor(things: &Collection<RawDocumentBuf>) -> (Duration, Duration) {
    let data = Binary {
        subtype: BinarySubtype::Generic,
        bytes: vec![7; CHUNK],
    };
    let chunks = LENGTH.div_ceil(CHUNK as u64);
    let started = Instant::now();
    for _ in 0..chunks.div_ceil(BATCH) {
        let batch: Vec<_> = (0..BATCH).map(|_| rawdoc! { "data": data.clone() }).collect();
        things.insert_many(&batch).await.expect("stored");
    }
    let inserted = started.elapsed();
    let started = Instant::now();
    let mut cursor = things.find(rawdoc! {}).await.expect("a cursor");
    let mut read = 0;
    while let Some(batch) = cursor.next_batch().await.expect("a batch") {
        read += batch.documents().count() as u64;
    }
    assert!(read >= chunks);
    (inserted, started.elapsed())
}

async fn client(uri: &str) {
    let client = Client::connect(uri).await.expect("a client");
    let database = client.database("d");
    let bucket = database.gridfs_bucket();
    let upload = async |length| {
        let source = repeat(7).take(length);
        bucket.upload_from_stream("file", source).await.expect("stored")
    };
    let download = async |id| {
        let read = bucket.download_to_stream(id, tokio::io::sink()).await;
        read.expect("read")
    };
    let small = upload(40_000_000).await;
    download(small).await;
    let before = peak_memory_kb();
    let started = Instant::now();
    let id = upload(LENGTH).await;
    report("GridFS upload", started.elapsed());
    let started = Instant::now();
    assert_eq!(download(id).await, LENGTH);
    report("GridFS download", started.elapsed());
    if let (Some(before), Some(after)) = (before, peak_memory_kb()) {
        println!("resident memory: {before} kB for 40 MB, {after} kB for 300 MB");
        assert!(after < before + GROWTH_LIMIT_KB, "{before} kB, then {after} kB");
    }
    bucket.drop().await.expect("dropped");
    let (inserted, read) = floor(&database.collection("things")).await;
    report("the same bytes, insert_many", inserted);
    report("the same bytes, find", read);
}

#[test]
#[ignore = "a measurement, which needs 600 MB of memory and the release profile"]
fn a_file_of_300_mb() {
    if let Ok(uri) = std::env::var(SERVER) {
        return runtime().block_on(client(&uri));
    }
    let runtime = runtime();
    let server = runtime
        .block_on(TestServer::builder().standalone().start())
        .expect("a server");
    let status = Command::new(std::env::current_exe().expect("the path of this binary"))
        .args(["--exact", "a_file_of_300_mb", "--ignored", "--nocapture"])
        .env(SERVER, server.uri())
        .status()
        .expect("the process runs");
    assert!(status.success());
}
