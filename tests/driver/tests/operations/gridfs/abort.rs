//! Aborted uploads: their chunks are deleted, and those of another file with the same `_id` remain.

use std::future::poll_fn;

use marula_driver::{
    GridFsBucket,
    bson::{Bson, Document, ObjectId, doc},
    event::CommandEvent,
    options::WriteConcern,
};
use marula_driver_tests::{CommandRecorder, RecordedClient, recorded, standalone};
use tokio::io::AsyncWriteExt;

use super::{bucket, chunks, counts, files, read, wait_for_counts};

#[tokio::test]
async fn an_aborted_upload_leaves_nothing() {
    let (_target, bucket) = bucket().await;
    let mut upload = bucket.open_upload_stream("f").await.unwrap();
    upload.write_all(b"0123456789").await.unwrap();
    upload.flush().await.unwrap();
    assert_eq!(counts(&bucket).await, (0, 2));
    upload.abort().await.unwrap();
    upload.abort().await.expect("abort can be repeated");
    assert_eq!(counts(&bucket).await, (0, 0));
    assert!(upload.write_all(b"x").await.is_err());
    assert!(upload.close().await.is_err());

    let mut upload = bucket.open_upload_stream("f").await.unwrap();
    upload.write_all(b"0123456789").await.unwrap();
    upload.flush().await.unwrap();
    drop(upload);
    wait_for_counts(&bucket, (0, 0)).await;
}

/// The chunks and the file of another upload with the same `_id` remain.
#[tokio::test]
async fn an_upload_with_the_id_of_a_file_changes_nothing() {
    let (_target, bucket) = bucket().await;
    let id = ObjectId::new();
    bucket
        .upload_from_stream_with_id(id, "f", &b"0123456789"[..])
        .await
        .unwrap();
    let error = bucket
        .upload_from_stream_with_id(id, "g", &b"abcd"[..])
        .await
        .unwrap_err();
    assert!(error.is_duplicate_key(), "{error}");
    for bytes in [&b"abcdefgh"[..], b""] {
        let mut upload = bucket.open_upload_stream_with_id(id, "g").await.unwrap();
        upload.write_all(bytes).await.unwrap();
        assert!(upload.close().await.unwrap_err().is_duplicate_key());
        assert!(upload.close().await.unwrap_err().is_duplicate_key());
        upload.abort().await.unwrap();
    }
    assert_eq!(read(&bucket, id).await.unwrap(), b"0123456789");
}

/// An empty file has no chunks, so all chunks with its `_id` are those of the upload.
#[tokio::test]
async fn an_abort_deletes_the_chunks_beside_an_empty_file() {
    let (_target, bucket) = bucket().await;
    let id = bucket.upload_from_stream("f", &b""[..]).await.unwrap();
    let mut upload = bucket.open_upload_stream_with_id(&id, "g").await.unwrap();
    upload.write_all(b"0123456789").await.unwrap();
    assert!(upload.close().await.unwrap_err().is_duplicate_key());
    assert_eq!(counts(&bucket).await, (1, 3));
    upload.abort().await.unwrap();
    assert_eq!(counts(&bucket).await, (1, 0));
}

/// Without the unique index, the server accepts chunks with the numbers of those of another file.
#[tokio::test]
async fn an_abort_keeps_another_file_without_the_unique_index() {
    let (_target, bucket) = bucket().await;
    files(&bucket)
        .insert_one(&doc! { "_id": "not empty" })
        .await
        .unwrap();
    let id = ObjectId::new();
    bucket
        .upload_from_stream_with_id(id, "f", &b"0123456789"[..])
        .await
        .unwrap();
    let mut upload = bucket.open_upload_stream_with_id(id, "g").await.unwrap();
    upload.write_all(b"abcdefgh").await.unwrap();
    assert!(upload.close().await.unwrap_err().is_duplicate_key());
    assert_eq!(counts(&bucket).await, (2, 5));
    upload.abort().await.unwrap();
    assert_eq!(read(&bucket, id).await.unwrap(), b"0123456789");
}

/// A chunk of another upload is in the way of the third insert.
#[tokio::test]
async fn an_abort_after_a_partial_insert_deletes_what_was_inserted() {
    let (_target, bucket) = bucket().await;
    let id = ObjectId::new();
    bucket.upload_from_stream("first", &b""[..]).await.unwrap();
    let foreign = doc! { "files_id": id, "n": 4 };
    chunks(&bucket).insert_one(&foreign).await.unwrap();
    let mut upload = bucket.open_upload_stream_with_id(id, "f").await.unwrap();
    for part in [&b"01234"[..], b"56789abc", b"defghijklmnopq"] {
        upload.write_all(part).await.unwrap();
        let _ = upload.flush().await;
    }
    let error = upload.close().await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error}");
    assert_eq!(counts(&bucket).await, (1, 5));
    upload.abort().await.unwrap();
    let left = chunks(&bucket).find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(left.get("n"), Some(&Bson::Int32(4)));
    assert_eq!(counts(&bucket).await, (1, 1));
}

/// A recorded client of a standalone server, and the bucket of the client with a file.
async fn with_file(options: &str) -> (RecordedClient, GridFsBucket, ObjectId) {
    let recorded = recorded(standalone().await, options);
    let bucket = recorded.things().database().gridfs_bucket().with_chunk_size(4);
    let id = ObjectId::new();
    bucket
        .upload_from_stream_with_id(id, "f", &b"0123456789"[..])
        .await
        .expect("an upload");
    (recorded, bucket, id)
}

async fn fail(client: &RecordedClient, command: &str, times: i32, effect: Document) {
    let mut data = doc! { "failCommands": [command] };
    data.extend(effect);
    let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
    let admin = client.deployment.client.database("admin");
    admin.run_command(point).await.expect("a fail point");
}

async fn wait_for_delete(recorder: &CommandRecorder) {
    let is_delete = |event: &CommandEvent| matches!(event, CommandEvent::Succeeded(event) if event.command_name == "delete");
    while !recorder.take().iter().any(is_delete) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_abort_after_a_failed_insert_keeps_another_file() {
    let (client, bucket, id) = with_file("").await;
    for (command, times, effect) in [
        ("insert", 1, doc! { "errorCode": 13 }),
        ("insert", 2, doc! { "closeConnection": true }),
        ("find", 1, doc! { "errorCode": 13 }),
    ] {
        // A new handle, which checks the indexes.
        let bucket = bucket.with_name("fs");
        fail(&client, command, times, effect).await;
        let mut upload = bucket.open_upload_stream_with_id(id, "g").await.unwrap();
        upload.write_all(b"abcdefgh").await.unwrap();
        upload.flush().await.unwrap_err();
        upload.abort().await.unwrap();
        assert_eq!(read(&bucket, id).await.unwrap(), b"0123456789", "{command}");
    }
}

#[tokio::test]
async fn a_dropped_insert_that_fails_keeps_another_file() {
    let (client, bucket, id) = with_file("").await;
    let late = doc! { "errorCode": 13, "blockConnection": true, "blockTimeMS": 100 };
    fail(&client, "insert", 1, late).await;
    let mut upload = bucket.open_upload_stream_with_id(id, "g").await.unwrap();
    upload.write_all(b"abcdefgh").await.unwrap();
    let _ = client.commands.take();
    let mut flush = Box::pin(upload.flush());
    poll_fn(|cx| {
        assert!(flush.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    drop(flush);
    drop(upload);
    wait_for_delete(&client.commands).await;
    assert_eq!(read(&bucket, id).await.unwrap(), b"0123456789");
}

/// The result of an unacknowledged insert is unknown. One connection keeps the order of the commands.
#[tokio::test]
async fn an_abort_of_unacknowledged_inserts_deletes_only_its_own_chunks() {
    let (_client, bucket, id) = with_file("maxPoolSize=1").await;
    let unacknowledged = bucket.with_write_concern(WriteConcern::nodes(0));
    for new_id in [id, ObjectId::new()] {
        let mut upload = unacknowledged
            .open_upload_stream_with_id(new_id, "g")
            .await
            .unwrap();
        for part in [&b"abcdefgh"[..], b"ijklmnop", b"qrstuvwx"] {
            upload.write_all(part).await.unwrap();
            upload.flush().await.unwrap();
        }
        upload.abort().await.unwrap();
        wait_for_counts(&bucket, (1, 3)).await;
        assert_eq!(read(&bucket, id).await.unwrap(), b"0123456789");
    }
}

#[tokio::test]
async fn an_abort_that_failed_can_be_repeated() {
    let tested = recorded(standalone().await, "");
    let bucket = tested.things().database().gridfs_bucket().with_chunk_size(4);
    let mut upload = bucket.open_upload_stream("f").await.unwrap();
    upload.write_all(b"0123456789").await.unwrap();
    upload.flush().await.unwrap();
    assert_eq!(counts(&bucket).await, (0, 2));
    let point = doc! {
        "configureFailPoint": "failCommand",
        "mode": { "times": 1 },
        "data": { "failCommands": ["delete"], "errorCode": 8000 },
    };
    let admin = tested.deployment.client.database("admin");
    admin.run_command(point).await.unwrap();
    assert!(upload.abort().await.is_err());
    assert!(upload.write_all(b"x").await.is_err());
    upload.abort().await.unwrap();
    assert_eq!(counts(&bucket).await, (0, 0));
}

/// The files collection document was inserted, although `close` failed.
#[tokio::test]
async fn an_abort_after_a_failed_close_deletes_the_file() {
    let tested = recorded(standalone().await, "");
    let bucket = tested.things().database().gridfs_bucket().with_chunk_size(4);
    let admin = tested.deployment.client.database("admin");
    for bytes in [&b"01234567"[..], b""] {
        let mut upload = bucket.open_upload_stream("f").await.unwrap();
        upload.write_all(bytes).await.unwrap();
        upload.flush().await.unwrap();
        let point = doc! {
            "configureFailPoint": "failCommand",
            "mode": { "times": 1 },
            "data": { "failCommands": ["insert"], "writeConcernError": { "code": 64, "errmsg": "too slow" } },
        };
        admin.run_command(point).await.unwrap();
        upload.close().await.unwrap_err();
        assert_eq!(counts(&bucket).await, (1, bytes.len() as u64 / 4));
        upload.abort().await.unwrap();
        assert_eq!(counts(&bucket).await, (0, 0));
    }
}
