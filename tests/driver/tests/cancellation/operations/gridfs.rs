//! Dropping the futures and streams of GridFS.

use std::collections::HashSet;

use marula_driver::{
    Client, Error, GridFsBucket, Result,
    bson::{Document, doc},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::harness::{Case, Harness, Round};

const CHUNK: u32 = 1024;

fn bytes() -> Vec<u8> {
    (0..10_000_u32)
        .map(|n| u8::try_from(n % 251).unwrap_or_default())
        .collect()
}

fn bucket(round: &Round) -> GridFsBucket {
    round.database.gridfs_bucket().with_chunk_size(CHUNK)
}

/// Checks that every chunk belongs to a file, and that every file has all its chunks.
async fn files_are_whole(client: Client) {
    for name in client.list_database_names().await.expect("names") {
        if !name.starts_with("round_") {
            continue;
        }
        let database = client.database(&name);
        let all = async |collection: &str| {
            let collection = database.collection::<Document>(collection);
            let found = collection.find(doc! {}).projection(doc! { "data": 0 }).await?;
            found.try_collect().await
        };
        let files: Vec<Document> = all("fs.files").await.expect("files");
        let chunks: Vec<Document> = all("fs.chunks").await.expect("chunks");
        let ids: HashSet<String> = files
            .iter()
            .map(|file| format!("{:?}", file.get("_id")))
            .collect();
        for chunk in &chunks {
            assert!(
                ids.contains(&format!("{:?}", chunk.get("files_id"))),
                "{name}: {chunk:?}"
            );
        }
        assert_eq!(chunks.len(), 10 * files.len(), "{name}");
    }
}

async fn upload(round: Round) -> Result<()> {
    let stored = bucket(&round).upload_from_stream("file", &*bytes()).await;
    stored.map(drop)
}

async fn stored(round: &Round) -> Result<marula_driver::bson::Bson> {
    bucket(round).upload_from_stream("file", &*bytes()).await
}

#[tokio::test]
async fn uploads_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    for command in ["insert", "createIndexes", "find"] {
        harness
            .drop_at_every_poll(Case::new(command, upload).checked(files_are_whole))
            .await;
    }
}

#[tokio::test]
async fn closing_and_aborting_an_upload_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let close = Case::new("insert", |round: Round| async move {
        let mut upload = bucket(&round).open_upload_stream("file").await?;
        upload.write_all(&bytes()).await.map_err(unwrapped)?;
        upload.close().await
    });
    harness.drop_at_every_poll(close.checked(files_are_whole)).await;
    let abort = Case::new("delete", |round: Round| async move {
        let mut upload = bucket(&round).open_upload_stream("file").await?;
        upload.write_all(&bytes()).await.map_err(unwrapped)?;
        upload.flush().await.map_err(unwrapped)?;
        upload.abort().await
    });
    harness.drop_at_every_poll(abort.checked(files_are_whole)).await;
}

/// The error of the driver in an I/O error.
fn unwrapped(error: std::io::Error) -> Error {
    let inner = error.into_inner().expect("an error of the driver");
    *inner.downcast::<Error>().expect("an error of the driver")
}

#[tokio::test]
async fn downloads_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let to_stream = Case::new("find", |round: Round| async move {
        let id = stored(&round).await?;
        let mut read = Vec::new();
        bucket(&round).download_to_stream(id, &mut read).await?;
        assert_eq!(read, bytes());
        Ok(())
    });
    harness
        .drop_at_every_poll(to_stream.checked(files_are_whole))
        .await;
    let stream = Case::new("find", |round: Round| async move {
        let id = stored(&round).await?;
        let mut download = bucket(&round).open_download_stream(id).await?;
        let mut read = Vec::new();
        download.read_to_end(&mut read).await.map_err(unwrapped)?;
        assert_eq!(read, bytes());
        Ok(())
    });
    harness.drop_at_every_poll(stream.checked(files_are_whole)).await;
}

#[tokio::test]
async fn changes_of_files_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let delete = Case::new("delete", |round: Round| async move {
        let id = stored(&round).await?;
        bucket(&round).delete(id).await
    });
    harness.drop_at_every_poll(delete.checked(files_are_whole)).await;
    let delete = Case::new("delete", |round: Round| async move {
        stored(&round).await?;
        bucket(&round).delete_by_name("file").await
    });
    harness.drop_at_every_poll(delete.checked(files_are_whole)).await;
    let rename = Case::new("update", |round: Round| async move {
        let id = stored(&round).await?;
        bucket(&round).rename(id, "other").await
    });
    harness.drop_at_every_poll(rename.checked(files_are_whole)).await;
    let drop_bucket = Case::new("drop", |round: Round| async move {
        stored(&round).await?;
        bucket(&round).drop().await
    });
    harness
        .drop_at_every_poll(drop_bucket.checked(files_are_whole))
        .await;
}
