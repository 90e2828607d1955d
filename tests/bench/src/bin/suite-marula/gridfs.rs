//! The GridFS tasks: one large file in memory, or many files on disk, of which each worker takes the
//! next one.

use std::{path::PathBuf, sync::Arc};

use marula_bench_shared::harness::{
    Assignment, Body, Failure, PhaseFuture, Task, data::Archive, share::share,
};
use marula_driver::{GridFsBucket, bson::Bson};

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

    /// Uploads all files. The `_id` of a file is its number.
    async fn upload(&self, bucket: &GridFsBucket) -> Result<(), Failure> {
        let (files, bucket) = (self.clone(), bucket.clone());
        share(self.paths.len(), move |number| {
            let (files, bucket) = (files.clone(), bucket.clone());
            async move {
                let (id, name) = (id(number), name(number));
                match &files.large {
                    Some(bytes) => {
                        bucket
                            .upload_from_stream_with_id(id, name, bytes.as_slice())
                            .await?
                    }
                    None => {
                        let file = tokio::fs::File::open(&files.paths[number]).await?;
                        bucket.upload_from_stream_with_id(id, name, file).await?
                    }
                };
                Ok(())
            }
        })
        .await
    }
}

fn id(number: usize) -> Bson {
    Bson::Int64(number as i64)
}

fn name(number: usize) -> String {
    format!("gridfstest{number:02}")
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

    /// The default bucket with a file of one byte, so that its indexes exist.
    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let bucket = self.place.database.gridfs_bucket();
            bucket.drop().await?;
            bucket.upload_from_stream("one_byte", &b"x"[..]).await?;
            self.bucket = Some(bucket);
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

/// A single file is read and discarded, several are written to disk.
pub(crate) struct Download {
    place: Place,
    files: Files,
    folder: PathBuf,
    bucket: Option<GridFsBucket>,
}

impl Download {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let process = std::process::id();
        Ok(Self {
            place: Place::new(assignment).await?,
            files: Files::new(assignment)?,
            folder: assignment.data.root().join(format!("download-{process}")),
            bucket: None,
        })
    }
}

impl Body for Download {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            self.place.drop().await?;
            self.files.upload(&self.place.database.gridfs_bucket()).await
        })
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            if self.files.large.is_none() {
                std::fs::create_dir_all(&self.folder)?;
            }
            self.bucket = Some(self.place.database.gridfs_bucket());
            Ok(())
        })
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let bucket = self.bucket.clone().ok_or("the bucket is not open")?;
            if self.files.large.is_some() {
                let count = bucket.download_to_stream(id(0), tokio::io::sink()).await?;
                return expect("read", count, self.files.bytes()?);
            }
            let folder = self.folder.clone();
            share(self.files.paths.len(), move |number| {
                let (bucket, path) = (bucket.clone(), folder.join(name(number)));
                async move {
                    let mut file = tokio::fs::File::create(path).await?;
                    bucket.download_to_stream(id(number), &mut file).await?;
                    Ok(file.sync_all().await?)
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
