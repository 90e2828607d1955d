//! GridFS: buckets, streams, the checks of chunks, and what remains after a stream is dropped.

mod abort;
mod ids;
mod selection;

use std::{
    io::{self, SeekFrom},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::FutureExt;
use marula_driver::{
    ChunkFault, Collection, Error, ErrorKind, GridFsBucket, GridFsError, IndexModel,
    bson::{Bson, Document, doc},
};
use marula_driver_tests::{Target, any_deployment};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, ReadBuf};

/// A bucket with chunks of 4 bytes, in a database of its own.
async fn bucket() -> (Target, GridFsBucket) {
    let target = any_deployment().await;
    let bucket = target
        .collection::<Document>()
        .database()
        .gridfs_bucket()
        .with_chunk_size(4);
    (target, bucket)
}

fn files(bucket: &GridFsBucket) -> Collection<Document> {
    bucket.database().collection(&format!("{}.files", bucket.name()))
}

fn chunks(bucket: &GridFsBucket) -> Collection<Document> {
    bucket.database().collection(&format!("{}.chunks", bucket.name()))
}

async fn counts(bucket: &GridFsBucket) -> (u64, u64) {
    let files = files(bucket).count_documents(doc! {}).await;
    let chunks = chunks(bucket).count_documents(doc! {}).await;
    (files.expect("a count"), chunks.expect("a count"))
}

/// Waits until the bucket has this many files and chunks.
async fn wait_for_counts(bucket: &GridFsBucket, expected: (u64, u64)) {
    while counts(bucket).await != expected {
        tokio::task::yield_now().await;
    }
}

async fn read(bucket: &GridFsBucket, id: impl Into<Bson>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    bucket.download_to_stream(id, &mut bytes).await.map(|_| bytes)
}

fn gridfs(error: &Error) -> &GridFsError {
    match error.kind() {
        ErrorKind::GridFs(error) => error,
        other => panic!("expected a GridFS error, found {other:?}"),
    }
}

#[tokio::test]
async fn a_file_is_written_and_read() {
    let (_target, bucket) = bucket().await;
    let mut upload = bucket
        .open_upload_stream("ten")
        .metadata(doc! { "by": "Ada" })
        .await
        .unwrap();
    upload.write_all(b"01234").await.unwrap();
    upload.write_all(b"56789").await.unwrap();
    assert_eq!(
        (upload.length(), upload.chunk_size(), upload.filename()),
        (10, 4, "ten")
    );
    assert_eq!(counts(&bucket).await, (0, 0), "nothing is visible before close");
    upload.close().await.unwrap();
    upload.close().await.expect("close can be repeated");
    assert!(upload.abort().await.is_err());
    assert!(upload.write_all(b"x").await.is_err());
    assert_eq!(counts(&bucket).await, (1, 3));

    let mut download = bucket.open_download_stream(upload.id()).await.unwrap();
    let file = download.file().clone();
    assert_eq!((file.length, file.chunk_size), (10, 4));
    assert_eq!(file.filename.as_deref(), Some("ten"));
    assert_eq!(file.metadata, Some(doc! { "by": "Ada" }));
    assert!(file.upload_date.is_some() && file.other.is_empty());
    let mut bytes = Vec::new();
    download.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes, b"0123456789");

    let found = bucket.find_one(doc! { "metadata.by": "Ada" }).await.unwrap();
    assert_eq!(found, Some(file));
    let none = bucket
        .find(doc! { "length": 9 })
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(none, []);
}

#[tokio::test]
async fn both_families_of_io_traits_are_implemented() {
    let (_target, bucket) = bucket().await;
    let mut upload = bucket.open_upload_stream("f").await.unwrap();
    futures_util::AsyncWriteExt::write_all(&mut upload, b"0123456789")
        .await
        .unwrap();
    futures_util::AsyncWriteExt::flush(&mut upload).await.unwrap();
    assert_eq!(
        counts(&bucket).await,
        (0, 2),
        "flushing inserts the complete chunks"
    );
    futures_util::AsyncWriteExt::close(&mut upload).await.unwrap();
    let mut download = bucket.open_download_stream(upload.id()).await.unwrap();
    futures_util::AsyncSeekExt::seek(&mut download, SeekFrom::End(-3))
        .await
        .unwrap();
    let mut bytes = Vec::new();
    futures_util::AsyncReadExt::read_to_end(&mut download, &mut bytes)
        .await
        .unwrap();
    assert_eq!(bytes, b"789");
}

#[tokio::test]
async fn ranges_are_read_by_seeking() {
    let (_target, bucket) = bucket().await;
    let id = bucket.upload_from_stream("f", &b"0123456789"[..]).await.unwrap();
    let mut download = bucket.open_download_stream(&id).await.unwrap();
    for start in 0..=11_usize {
        download.seek(SeekFrom::Start(start as u64)).await.unwrap();
        let mut rest = Vec::new();
        download.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"0123456789".get(start..).unwrap_or_default());
    }
    assert!(download.seek(SeekFrom::Start(0)).await.is_ok());
    assert!(download.seek(SeekFrom::Current(-1)).await.is_err());
    assert_eq!(
        download.fill_buf().await.unwrap(),
        b"0123",
        "a chunk without a copy"
    );

    for (start, end) in [(0, 10), (3, 9), (4, 8), (5, 5), (10, 10), (0, 0)] {
        let mut bytes = Vec::new();
        let count = bucket
            .download_to_stream(&id, &mut bytes)
            .start(start)
            .end(end)
            .await
            .unwrap();
        assert_eq!(count, end - start);
        assert_eq!(bytes, b"0123456789"[start as usize..end as usize]);
    }
    for (start, end) in [(6, 5), (0, 11), (11, 11)] {
        let result = bucket
            .download_to_stream(&id, Vec::new())
            .start(start)
            .end(end)
            .await;
        assert!(matches!(
            result.unwrap_err().kind(),
            ErrorKind::InvalidArgument(_)
        ));
    }
}

#[tokio::test]
async fn ids_have_any_type_and_files_may_be_empty() {
    let (_target, bucket) = bucket().await;
    for id in [
        Bson::String("s".to_owned()),
        Bson::Int64(7),
        Bson::Document(doc! { "a": 1 }),
        Bson::Null,
    ] {
        bucket
            .upload_from_stream_with_id(&id, "f", &b"abcde"[..])
            .await
            .unwrap();
        assert_eq!(read(&bucket, &id).await.unwrap(), b"abcde");
        bucket.delete(&id).await.unwrap();
    }
    let id = bucket.upload_from_stream("empty", &b""[..]).await.unwrap();
    assert_eq!(counts(&bucket).await, (1, 0));
    assert_eq!(read(&bucket, &id).await.unwrap(), b"");
}

#[tokio::test]
async fn revisions_are_renamed_and_deleted() {
    let (_target, bucket) = bucket().await;
    for (time, bytes) in [(1, "a"), (2, "b"), (3, "c")] {
        let id = bucket.upload_from_stream("f", bytes.as_bytes()).await.unwrap();
        let date = marula_driver::bson::DateTime::from_millis(time);
        files(&bucket)
            .update_one(doc! { "_id": id }, doc! { "$set": { "uploadDate": date } })
            .await
            .unwrap();
    }
    let revision = async |revision| {
        let mut bytes = Vec::new();
        let download = bucket
            .download_to_stream_by_name("f", &mut bytes)
            .revision(revision);
        download
            .await
            .map(|_| String::from_utf8_lossy(&bytes).into_owned())
    };
    for (number, expected) in [(0, "a"), (1, "b"), (2, "c"), (-1, "c"), (-3, "a")] {
        assert_eq!(revision(number).await.unwrap(), expected);
    }
    for number in [3, -4, i32::MAX, i32::MIN] {
        let error = revision(number).await.unwrap_err();
        assert!(
            matches!(gridfs(&error), GridFsError::RevisionNotFound { revision, .. } if *revision == number)
        );
    }
    let missing = bucket.open_download_stream_by_name("g").await.unwrap_err();
    assert!(matches!(gridfs(&missing), GridFsError::NameNotFound(name) if name == "g"));

    bucket.rename_by_name("f", "g").await.unwrap();
    let missing = bucket.rename_by_name("f", "g").await.unwrap_err();
    assert!(matches!(gridfs(&missing), GridFsError::NameNotFound(_)));
    bucket.delete_by_name("g").await.unwrap();
    assert_eq!(counts(&bucket).await, (0, 0));
    let missing = bucket.delete_by_name("g").await.unwrap_err();
    assert!(matches!(gridfs(&missing), GridFsError::NameNotFound(_)));
    for missing in [
        bucket.delete(1).await,
        bucket.rename(1, "x").await,
        bucket.open_download_stream(1).await.map(|_| ()),
    ] {
        assert!(matches!(
            gridfs(&missing.unwrap_err()),
            GridFsError::IdNotFound(Bson::Int32(1))
        ));
    }
    bucket.upload_from_stream("f", &b"abc"[..]).await.unwrap();
    bucket.drop().await.unwrap();
    assert_eq!(counts(&bucket).await, (0, 0));
}

#[tokio::test]
async fn invalid_chunks_are_errors_that_name_them() {
    let (_target, bucket) = bucket().await;
    let chunk = |id: &Bson, n| doc! { "files_id": id.clone(), "n": n };
    let data = |bytes: &[u8]| {
        Bson::Binary(marula_driver::bson::Binary {
            subtype: marula_driver::bson::BinarySubtype::Generic,
            bytes: bytes.to_vec(),
        })
    };
    let fault = async |id: &Bson| {
        let error = read(&bucket, id).await.unwrap_err();
        match gridfs(&error) {
            GridFsError::InvalidChunk { id: of, n, fault } if of == id => (*n, fault.clone()),
            other => panic!("expected an invalid chunk of {id}, found {other:?}"),
        }
    };
    let upload = async || bucket.upload_from_stream("f", &b"0123456789"[..]).await.unwrap();

    for n in 0..3 {
        let id = upload().await;
        chunks(&bucket).delete_one(chunk(&id, n)).await.unwrap();
        assert_eq!(fault(&id).await, (n as u64, ChunkFault::Missing));
    }
    let id = upload().await;
    let set = doc! { "$set": { "data": data(b"xyz") } };
    chunks(&bucket).update_one(chunk(&id, 1), set).await.unwrap();
    let wrong = ChunkFault::WrongSize {
        expected: 4,
        found: 3,
    };
    assert_eq!(fault(&id).await, (1, wrong));

    let id = upload().await;
    let mut extra = chunk(&id, 3);
    extra.insert("data", data(b"x"));
    chunks(&bucket).insert_one(&extra).await.unwrap();
    assert_eq!(fault(&id).await, (3, ChunkFault::Extra));
    let empty = doc! { "$set": { "data": data(b"") } };
    chunks(&bucket).update_one(chunk(&id, 3), empty).await.unwrap();
    assert_eq!(read(&bucket, &id).await.unwrap(), b"0123456789");

    let id = upload().await;
    let set = doc! { "$set": { "chunkSize": 0 } };
    files(&bucket).update_one(doc! { "_id": &id }, set).await.unwrap();
    let error = read(&bucket, &id).await.unwrap_err();
    assert!(matches!(gridfs(&error), GridFsError::InvalidFile { id: of, .. } if *of == id));
    let mut download = bucket.open_download_stream(upload().await).await.unwrap();
    chunks(&bucket).delete_many(doc! {}).await.unwrap();
    for _ in 0..2 {
        let error = download.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        assert!(matches!(gridfs(inner.unwrap()), GridFsError::InvalidChunk { .. }));
    }
}

#[tokio::test]
async fn invalid_options_are_errors() {
    let (_target, bucket) = bucket().await;
    for size in [0, (16 << 20) + 1, u32::MAX] {
        for result in [
            bucket.open_upload_stream("f").chunk_size(size).await,
            bucket.with_chunk_size(size).open_upload_stream("f").await,
        ] {
            assert!(matches!(
                result.unwrap_err().kind(),
                ErrorKind::InvalidArgument(_)
            ));
        }
    }
    assert_eq!(counts(&bucket).await, (0, 0));
}

#[tokio::test]
async fn indexes_are_created_once_and_before_the_first_write() {
    let (_target, bucket) = bucket().await;
    let names = async |collection: Collection<Document>| collection.list_index_names().await.unwrap();
    let mut upload = bucket.open_upload_stream("f").await.unwrap();
    assert!(names(files(&bucket)).await.is_empty());
    upload.close().await.unwrap();
    assert_eq!(names(files(&bucket)).await, ["_id_", "filename_1_uploadDate_1"]);
    assert_eq!(names(chunks(&bucket)).await, ["_id_", "files_id_1_n_1"]);

    let other = bucket.with_name("other");
    let keys = doc! { "filename": 1.0, "uploadDate": 1_i64 };
    files(&other)
        .create_index(IndexModel::new(keys).name("mine"))
        .await
        .unwrap();
    let uploads = ["a", "b", "c"].map(|name| other.upload_from_stream(name, name.as_bytes()).into_future());
    for result in futures_util::future::join_all(uploads).await {
        result.unwrap();
    }
    assert_eq!(counts(&other).await, (3, 3));
    assert_eq!(names(files(&other)).await, ["_id_", "mine"]);
    assert_eq!(names(chunks(&other)).await, ["_id_", "files_id_1_n_1"]);
}

/// Old shells stored options of other types, which the server keeps.
#[tokio::test]
async fn indexes_with_options_of_any_type_are_found() {
    let (_target, bucket) = bucket().await;
    let keys = doc! { "files_id": 1, "n": 1 };
    let index = doc! { "key": keys, "name": "mine", "unique": 1.0, "background": 0 };
    let create = doc! { "createIndexes": chunks(&bucket).name(), "indexes": [index] };
    bucket.database().run_command(create).await.unwrap();
    bucket.upload_from_stream("f", &b"x"[..]).await.unwrap();
    let names = chunks(&bucket).list_index_names().await.unwrap();
    assert_eq!(names, ["_id_", "mine"]);
}

/// A source that fails after some bytes.
struct Failing(usize);

impl AsyncRead for Failing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0 == 0 {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the source ended",
            )));
        }
        let count = self.0.min(buffer.remaining());
        buffer.initialize_unfilled_to(count).fill(b'x');
        buffer.advance(count);
        self.0 -= count;
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn an_error_of_the_source_aborts_the_upload() {
    let (_target, bucket) = bucket().await;
    let bucket = bucket.with_chunk_size(1 << 20);
    let error = bucket
        .upload_from_stream("f", Failing(9 << 20))
        .await
        .unwrap_err();
    match gridfs(&error) {
        GridFsError::Stream(inner) => assert_eq!(inner.kind(), io::ErrorKind::UnexpectedEof),
        other => panic!("expected the error of the source, found {other:?}"),
    }
    assert_eq!(counts(&bucket).await, (0, 0));
}

#[tokio::test]
async fn large_files_are_written_in_batches() {
    let (_target, bucket) = bucket().await;
    let bucket = bucket.with_chunk_size(255 * 1024);
    let bytes: Arc<Vec<u8>> = Arc::new((0..12_000_000_u32).map(|i| (i % 251) as u8).collect());
    let id = bucket
        .upload_from_stream("large", bytes.as_slice())
        .await
        .unwrap();
    assert_eq!(counts(&bucket).await, (1, 46));
    assert!(read(&bucket, &id).await.unwrap() == *bytes);
}

/// Dropping an upload after each number of polls leaves the whole file or nothing.
#[tokio::test]
async fn a_dropped_upload_is_a_whole_file_or_nothing() {
    let (_target, bucket) = bucket().await;
    bucket.upload_from_stream("first", &b""[..]).await.unwrap();
    let mut is_complete = false;
    let mut polls = 0;
    while !is_complete {
        polls += 1;
        let mut upload = Box::pin(async {
            let mut upload = bucket.open_upload_stream("f").await?;
            tokio::io::AsyncWriteExt::write_all(&mut upload, b"0123456789")
                .await
                .expect("a write");
            tokio::io::AsyncWriteExt::flush(&mut upload)
                .await
                .expect("a flush");
            upload.close().await
        });
        let mut left = polls;
        is_complete = std::future::poll_fn(|cx| {
            left -= 1;
            match upload.as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(result.map(|()| true)),
                Poll::Pending if left == 0 => Poll::Ready(Ok(false)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
        .unwrap();
        drop(upload);
        // Either state is reached by the commands in the background.
        loop {
            match counts(&bucket).await {
                (1, 0) if !is_complete => break,
                (2, 3) => break,
                _ => tokio::task::yield_now().await,
            }
        }
        if counts(&bucket).await == (2, 3) {
            bucket.delete_by_name("f").await.unwrap();
        }
    }
    assert!(polls > 2, "the upload was dropped {polls} times");
}

/// A dropped delete is completed in the background.
#[tokio::test]
async fn a_dropped_delete_is_completed() {
    let (_target, bucket) = bucket().await;
    let id = bucket.upload_from_stream("f", &b"0123456789"[..]).await.unwrap();
    let delete = bucket.delete(&id).into_future();
    assert!(delete.now_or_never().is_none());
    wait_for_counts(&bucket, (0, 0)).await;
    drop(bucket.delete(&id));
}
