//! GridFS: files as chunks, with the indexes and the sorted reads of the driver.

use crate::checks::Checks;
use crate::context::{Context, complaint};
use futures_util::io::{AsyncReadExt, AsyncWriteExt};
use mongodb::bson::{Bson, doc};
use mongodb::error::Result;
use mongodb::gridfs::GridFsBucket;
use mongodb::options::GridFsBucketOptions;

const SIZE: usize = 1_000_003;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let mut options = GridFsBucketOptions::default();
    options.bucket_name = Some("files".to_owned());
    options.chunk_size_bytes = Some(64 * 1024);
    let bucket = context.db.gridfs_bucket(options);
    let bytes: Vec<u8> = (0..SIZE).map(|index| (index * 31 % 251) as u8).collect();
    let id = upload(&bucket, "a.bin", &bytes).await?;
    let chunks = context.collection("files.chunks");
    checks.eq(
        "gridfs: chunks",
        chunks.count_documents(doc! { "files_id": &id }).await,
        SIZE.div_ceil(65_536),
    );
    checks.eq(
        "gridfs: index of the chunks",
        chunks.list_index_names().await,
        ["_id_", "files_id_1_n_1"],
    );
    checks.eq(
        "gridfs: download",
        download(&bucket, &id).await.map(|read| read == bytes),
        true,
    );
    let file = bucket.find_one(doc! { "filename": "a.bin" }).await?;
    checks.is(
        "gridfs: file",
        file.map(|file| (file.length, file.chunk_size_bytes)),
        Some((SIZE as u64, 65_536)),
    );
    upload(&bucket, "a.bin", b"newer").await?;
    let mut latest = Vec::new();
    let mut stream = bucket.open_download_stream_by_name("a.bin").await?;
    stream.read_to_end(&mut latest).await?;
    checks.is("gridfs: the latest of a name", latest, b"newer".to_vec());
    bucket.rename(id.clone(), "b.bin").await?;
    checks.eq("gridfs: delete", bucket.delete(id.clone()).await, ());
    checks.eq(
        "gridfs: chunks are gone",
        chunks.count_documents(doc! { "files_id": &id }).await,
        0,
    );
    checks.is("gridfs: delete again", bucket.delete(id).await.is_err(), true);
    checks.eq("gridfs: drop", bucket.drop().await, ());
    Ok(())
}

async fn upload(bucket: &GridFsBucket, name: &str, bytes: &[u8]) -> Result<Bson> {
    let mut stream = bucket.open_upload_stream(name).await?;
    stream.write_all(bytes).await?;
    stream.close().await?;
    Ok(stream.id().clone())
}

async fn download(bucket: &GridFsBucket, id: &Bson) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(SIZE);
    let mut stream = bucket.open_download_stream(id.clone()).await?;
    let read = stream.read_to_end(&mut bytes).await?;
    if read == bytes.len() {
        Ok(bytes)
    } else {
        Err(complaint(format!("read {read} bytes, have {}", bytes.len())))
    }
}
