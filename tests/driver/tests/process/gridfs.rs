//! Memory of GridFS streams: it does not grow with the file.

use marula_driver::{Client, GridFsBucket, bson::Bson};
use tokio::{
    io::{AsyncReadExt, repeat},
    runtime,
};

use crate::allocations::ServerThread;

const MIB: u64 = 1 << 20;
/// The stream and the message of one insert, of about 4 MiB each, while their buffers grow.
const UPLOAD_LIMIT: u64 = 20 * MIB;
/// One batch of at most 16 MiB, while its buffer grows: how much depends on the bytes that each read
/// returns.
const DOWNLOAD_LIMIT: u64 = 48 * MIB;

async fn upload(bucket: &GridFsBucket, length: u64) -> Bson {
    let source = repeat(7).take(length);
    bucket.upload_from_stream("file", source).await.expect("stored")
}

async fn download(bucket: &GridFsBucket, id: Bson) -> u64 {
    let sink = tokio::io::sink();
    bucket.download_to_stream(id, sink).await.expect("read")
}

/// The server allocates in its own thread, which is not counted.
#[test]
fn uploads_and_downloads_have_constant_memory() {
    let _alone = crate::lock_process();
    let server = ServerThread::start(false);
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let client = runtime.block_on(Client::connect(&server.uri)).expect("a client");
    let bucket = client.database("d").gridfs_bucket();
    // Buffers of the connection reach their sizes.
    runtime.block_on(async {
        let id = upload(&bucket, 40 * MIB).await;
        download(&bucket, id).await;
    });
    for length in [64 * MIB, 160 * MIB] {
        let mut id = None;
        let up = allocation_counter::measure(|| id = Some(runtime.block_on(upload(&bucket, length))));
        let id = id.expect("measured");
        let mut read = 0;
        let down = allocation_counter::measure(|| read = runtime.block_on(download(&bucket, id)));
        assert_eq!(read, length);
        println!(
            "{} MiB: at most {} KiB more while it is uploaded, {} KiB while it is downloaded",
            length / MIB,
            up.bytes_max / 1024,
            down.bytes_max / 1024
        );
        assert!(up.bytes_max < UPLOAD_LIMIT, "{}", up.bytes_max);
        assert!(down.bytes_max < DOWNLOAD_LIMIT, "{}", down.bytes_max);
    }
}
