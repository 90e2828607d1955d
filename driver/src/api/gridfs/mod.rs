//! [`GridFsBucket`]: files stored as chunks ([GridFS]).
//!
//! [GridFS]: https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md

mod background;
mod change;
mod download;
mod download_stream;
mod store;
mod upload;
mod upload_stream;

use std::{fmt, sync::Arc, time::Duration};

pub use download_stream::GridFsDownloadStream;
pub use upload_stream::GridFsUploadStream;

/// Actions, re-exported at `marula_driver::action`.
pub(crate) mod action {
    pub use super::{
        change::{GridFsDelete, GridFsDrop, GridFsRename},
        download::{DownloadToStream, DownloadToStreamByName, OpenDownloadStream, OpenDownloadStreamByName},
        upload::{OpenUploadStream, UploadFromStream},
    };
}

use super::{
    Database,
    command::action::{Find, FindOne},
};
use crate::{
    bson::IntoDocument,
    proto::gridfs::{DEFAULT_CHUNK_SIZE, GridFsFile},
    types::{
        concern::{ReadConcern, WriteConcern},
        read_preference::ReadPreference,
    },
};
use store::Store;

/// A GridFS bucket: the collections `<name>.files` and `<name>.chunks` of a database, which store
/// files of any size in chunks. Clones are cheap and share the check of the indexes. Creating a
/// handle sends nothing.
///
/// Files are written and read as streams. Several files can have the same name; they are the
/// revisions of that name, ordered by their `uploadDate`. The `_id` of a file can have any type that
/// the server accepts for `_id`.
///
/// Before the first write of a handle the driver checks whether the bucket is empty. If so, it
/// creates the indexes `{ filename: 1, uploadDate: 1 }` of the files and, unique, `{ files_id: 1, n:
/// 1 }` of the chunks, unless they exist.
///
/// The `with_*` methods return a handle with other options. Operations do not run in sessions.
///
/// # Timeouts
///
/// A `timeout` limits a whole call. That of a stream begins when it is opened and includes all reads
/// and writes, `close` and `abort`. Streams of the application are not interrupted:
/// `upload_from_stream` and `download_to_stream` take longer than the timeout if a single read or
/// write of such a stream does.
///
/// ```no_run
/// # async fn run(database: marula_driver::Database) -> Result<(), Box<dyn std::error::Error>> {
/// use marula_driver::bson::doc;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// let bucket = database.gridfs_bucket().with_name("photos");
/// let mut upload = bucket.open_upload_stream("marula.jpg").metadata(doc! { "by": "Ada" }).await?;
/// upload.write_all(b"the bytes of the photo").await?;
/// upload.close().await?;
///
/// let mut download = bucket.open_download_stream(upload.id()).await?;
/// let mut bytes = Vec::new();
/// download.read_to_end(&mut bytes).await?;
///
/// let by_ada = bucket.find(doc! { "metadata.by": "Ada" }).sort(doc! { "uploadDate": -1 }).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct GridFsBucket {
    store: Arc<Store>,
}

impl Database {
    /// A handle to the GridFS bucket `fs` of this database, with the concerns, the read preference
    /// and the timeout of this handle. Nothing is sent. For another bucket, see
    /// [`with_name`](GridFsBucket::with_name).
    #[must_use]
    pub fn gridfs_bucket(&self) -> GridFsBucket {
        GridFsBucket::new(self.clone(), "fs".to_owned(), DEFAULT_CHUNK_SIZE)
    }
}

impl GridFsBucket {
    fn new(database: Database, name: String, chunk_size: u32) -> Self {
        Self {
            store: Arc::new(Store::new(database, name, chunk_size)),
        }
    }

    fn with(&self, change: impl FnOnce(&Database) -> Database) -> Self {
        let store = &self.store;
        Self::new(change(&store.database), store.name.clone(), store.chunk_size)
    }

    /// The name of the bucket.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.store.name
    }

    /// The database of the bucket, with the concerns, the read preference and the timeout of the
    /// bucket.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.store.database
    }

    /// Returns a handle to the bucket with this name in the same database. Default: `fs`.
    #[must_use]
    pub fn with_name(&self, name: &str) -> Self {
        let store = &self.store;
        Self::new(store.database.clone(), name.to_owned(), store.chunk_size)
    }

    /// Returns a handle that stores new files in chunks of this number of bytes, from 1 to 16 MiB;
    /// the server rejects chunks whose document is larger than 16 MiB. Stored files do not change.
    /// Default: 255 KiB.
    #[must_use]
    pub fn with_chunk_size(&self, bytes: u32) -> Self {
        let store = &self.store;
        Self::new(store.database.clone(), store.name.clone(), bytes)
    }

    /// Returns a handle with this read concern. Default: that of the database.
    #[must_use]
    pub fn with_read_concern(&self, concern: ReadConcern) -> Self {
        self.with(|database| database.with_read_concern(concern))
    }

    /// Returns a handle with this write concern. Default: that of the database. With an
    /// unacknowledged write concern, errors of the server are not reported, and a file may be
    /// incomplete.
    #[must_use]
    pub fn with_write_concern(&self, concern: WriteConcern) -> Self {
        self.with(|database| database.with_write_concern(concern))
    }

    /// Returns a handle with this read preference. Default: that of the database.
    #[must_use]
    pub fn with_read_preference(&self, preference: ReadPreference) -> Self {
        self.with(|database| database.with_read_preference(preference))
    }

    /// Returns a handle with this timeout (`timeoutMS`) of each operation and each stream.
    /// `Duration::ZERO` means no limit. Default: that of the database.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        self.with(|database| database.with_timeout(timeout))
    }

    /// Queries the files that match the filter; `doc! {}` matches all. The fields are those of the
    /// files collection: `_id`, `length`, `chunkSize`, `uploadDate`, `filename`, and the document
    /// `metadata`, e.g. `doc! { "metadata.owner": "Ada" }`. Awaiting the action returns a
    /// [`Cursor`](crate::Cursor).
    pub fn find(&self, filter: impl IntoDocument) -> Find<'_, GridFsFile> {
        self.store.queried.find(filter)
    }

    /// Queries one file that matches the filter, as [`find`](Self::find).
    pub fn find_one(&self, filter: impl IntoDocument) -> FindOne<'_, GridFsFile> {
        self.store.queried.find_one(filter)
    }
}

impl fmt::Debug for GridFsBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridFsBucket")
            .field("database", &self.database().name())
            .field("name", &self.name())
            .field("chunk_size", &self.store.chunk_size)
            .finish_non_exhaustive()
    }
}

/// The `timeout` setter of an action of a bucket.
macro_rules! timeout_setter {
    () => {
        /// `timeoutMS`: the time limit for the whole call, or for the lifetime of the stream. Zero
        /// means no limit. Default: that of the bucket.
        pub fn timeout(mut self, value: std::time::Duration) -> Self {
            self.timeout = Some(value);
            self
        }
    };
}
use timeout_setter;
