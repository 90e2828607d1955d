//! The GridFS tasks: one large file in memory, or many files on disk, of which each worker takes
//! the next one.

use std::{path::PathBuf, sync::Arc};

use futures_util::{AsyncReadExt, AsyncWriteExt};
use marula_bench_shared::harness::{
    Assignment, Body, Failure, PhaseFuture, Task, data::Archive, share::share,
};
use mongodb::{
    bson::{Bson, oid::ObjectId},
    gridfs::GridFsBucket,
};

use crate::place::{Place, expect};

/// The files of the task.
#[derive(Clone)]
struct Files {
    /// In memory for a single file, otherwise on disk.
    large: Option<Arc<Vec<u8>>>,
    paths: Arc<Vec<PathBuf>>,
}

impl Files {
    fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let data = &assignment.data;
        Ok(match assignment.task {
            Task::GridFsUpload | Task::GridFsDownload => {
                let path = data.path(Archive::Documents, "gridfs_large.bin");
                Self {
                    large: Some(Arc::new(std::fs::read(&path)?)),
                    paths: Arc::new(vec![path]),
                }
            }
            _ => Self {
                large: None,
                paths: Arc::new(data.files(Archive::Parallel, "gridfs_multi", assignment.units)?),
            },
        })
    }

    fn bytes(&self) -> Result<u64, Failure> {
        let mut bytes = 0;
        for path in self.paths.iter() {
            bytes += std::fs::metadata(path)?.len();
        }
        Ok(bytes)
    }

    async fn upload(&self, bucket: &GridFsBucket) -> Result<(), Failure> {
        let (files, bucket) = (self.clone(), bucket.clone());
        share(self.paths.len(), move |number| {
            let (files, bucket) = (files.clone(), bucket.clone());
            async move {
                let mut stream = bucket.open_upload_stream(name(number)).await?;
                match &files.large {
                    Some(bytes) => stream.write_all(bytes).await?,
                    None => {
                        stream
                            .write_all(&tokio::fs::read(&files.paths[number]).await?)
                            .await?
                    }
                }
                Ok(stream.close().await?)
            }
        })
        .await
    }
}

fn name(number: usize) -> String {
    format!("gridfstest{number:02}")
}

/// The default bucket with a file of one byte, so that its indexes exist.
async fn fresh(place: &Place) -> Result<GridFsBucket, Failure> {
    let bucket = place.database.gridfs_bucket(None);
    bucket.drop().await?;
    let mut stream = bucket.open_upload_stream("one_byte").await?;
    stream.write_all(b"x").await?;
    stream.close().await?;
    Ok(bucket)
}

pub(crate) struct Upload {
    place: Place,
    files: Files,
    bucket: Option<GridFsBucket>,
}

impl Upload {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            files: Files::new(assignment)?,
            bucket: None,
        })
    }
}

impl Body for Upload {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            self.bucket = Some(fresh(&self.place).await?);
            Ok(())
        })
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let bucket = self.bucket.as_ref().ok_or("the bucket is not open")?;
            self.files.upload(bucket).await
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

/// A single file is read into memory, several are written to disk.
pub(crate) struct Download {
    place: Place,
    files: Files,
    folder: PathBuf,
    ids: Arc<Vec<ObjectId>>,
    bucket: Option<GridFsBucket>,
}

impl Download {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let process = std::process::id();
        Ok(Self {
            place: Place::new(assignment).await?,
            files: Files::new(assignment)?,
            folder: assignment.data.root().join(format!("download-{process}")),
            ids: Arc::default(),
            bucket: None,
        })
    }
}

impl Body for Download {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            self.place.drop().await?;
            let bucket = self.place.database.gridfs_bucket(None);
            self.files.upload(&bucket).await?;
            let mut ids = Vec::new();
            for number in 0..self.files.paths.len() {
                let found = bucket
                    .find_one(mongodb::bson::doc! { "filename": name(number) })
                    .await?;
                let file = found.ok_or("a file was not stored")?;
                ids.push(
                    file.id
                        .as_object_id()
                        .ok_or("the id of a file is not an ObjectId")?,
                );
            }
            self.ids = Arc::new(ids);
            Ok(())
        })
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            if self.files.large.is_none() {
                std::fs::create_dir_all(&self.folder)?;
            }
            self.bucket = Some(self.place.database.gridfs_bucket(None));
            Ok(())
        })
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let bucket = self.bucket.clone().ok_or("the bucket is not open")?;
            let (ids, folder) = (self.ids.clone(), self.folder.clone());
            if self.files.large.is_some() {
                let mut stream = bucket.open_download_stream(Bson::ObjectId(ids[0])).await?;
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).await?;
                return expect("read", bytes.len() as u64, self.files.bytes()?);
            }
            share(ids.len(), move |number| {
                let (bucket, id, path) = (bucket.clone(), ids[number], folder.join(name(number)));
                async move {
                    let mut bytes = Vec::new();
                    let mut stream = bucket.open_download_stream(Bson::ObjectId(id)).await?;
                    stream.read_to_end(&mut bytes).await?;
                    let written = tokio::task::spawn_blocking(move || {
                        std::fs::write(&path, bytes)?;
                        std::fs::File::open(&path)?.sync_all()
                    });
                    Ok(written.await??)
                }
            })
            .await
        })
    }

    fn after(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            if self.files.large.is_some() {
                return Ok(());
            }
            let mut bytes = 0;
            for file in std::fs::read_dir(&self.folder)? {
                bytes += file?.metadata()?.len();
            }
            std::fs::remove_dir_all(&self.folder)?;
            expect("downloaded", bytes, self.files.bytes()?)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}
