//! GridFS.

use marula_driver::{
    Client, GridFsBucket,
    bson::{Document, doc, oid::ObjectId},
};
use marula_driver_tests::{CommandRecorder, Deployment, standalone};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{BLOCKED_MS, block, names, times_out};

/// A bucket of a client with a time limit.
async fn bucket() -> (Deployment, CommandRecorder, Client, GridFsBucket) {
    let deployment = standalone().await;
    let commands = CommandRecorder::default();
    let uri = format!(
        "{}/?timeoutMS=1000",
        deployment.server.uri().trim_end_matches('/')
    );
    let client = commands.client_of(&uri);
    let bucket = client.database("db").gridfs_bucket();
    (deployment, commands, client, bucket)
}

#[tokio::test]
async fn client_side_operations_timeout_prose_6a() {
    let (deployment, _, _client, bucket) = bucket().await;
    block(&deployment.client, &["insert"], 1, BLOCKED_MS, "").await;
    let mut upload = bucket.open_upload_stream("filename").await.unwrap();
    upload.write_all(&[0x12]).await.unwrap();
    times_out(async { upload.close().await }).await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_6b() {
    let (deployment, _, _client, bucket) = bucket().await;
    block(&deployment.client, &["delete"], 1, BLOCKED_MS, "").await;
    let bucket = bucket.with_chunk_size(2);
    let mut upload = bucket.open_upload_stream("filename").await.unwrap();
    upload.write_all(&[1, 2, 3, 4]).await.unwrap();
    // Otherwise the chunks are stored when there are more, or at the end.
    upload.flush().await.unwrap();
    times_out(upload.abort()).await;
}

#[tokio::test]
async fn client_side_operations_timeout_prose_7() {
    let (deployment, commands, _client, bucket) = bucket().await;
    let id = ObjectId::parse_str("000000000000000000000005").unwrap();
    let file = doc! {
        "_id": id, "length": 10, "chunkSize": 4, "uploadDate": marula_driver::bson::DateTime::from_millis(0),
        "md5": "57d83cd477bfb1ccd975ab33d827a92b", "filename": "length-10",
        "contentType": "application/octet-stream", "aliases": [], "metadata": {},
    };
    let files = deployment
        .client
        .database("db")
        .collection::<Document>("fs.files");
    files.insert_one(&file).await.unwrap();
    let mut download = bucket.open_download_stream(id).await.unwrap();
    block(&deployment.client, &["find"], 1, BLOCKED_MS, "").await;
    let read = async {
        let mut bytes = Vec::new();
        let read = download.read_to_end(&mut bytes).await;
        read.map_err(|error| {
            error
                .downcast::<marula_driver::Error>()
                .expect("an error of the driver")
        })
    };
    times_out(read).await;
    assert_eq!(names(&commands.commands()), ["find", "find"]);
}
