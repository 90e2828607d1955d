//! The commands on the two collections of a bucket.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::{
    Collection, Cursor, Database, Error, ErrorKind, IndexModel, Result,
    bson::{Bson, Document, RawDocumentBuf, decode_document, doc},
    error::GridFsError,
    execution::Executor,
    proto::gridfs::{GridFsFile, Revision, delete_batches, has_index, is_valid_id},
    types::{
        read_preference::ReadPreference,
        timeout::{Timeout, TimeoutSource},
    },
};

/// The collections of a bucket, and whether its indexes have been checked.
pub(super) struct Store {
    pub(super) database: Database,
    pub(super) name: String,
    pub(super) chunk_size: u32,
    /// The files collection, for queries of the application.
    pub(super) queried: Collection<GridFsFile>,
    /// The two collections, for the commands of calls and streams, which a shutdown waits for.
    files: Collection<GridFsFile>,
    chunks: Collection<RawDocumentBuf>,
    /// Set when the indexes have been checked. Concurrent uploads do not wait for each other: the
    /// check of a stream that is not polled would not end. The indexes are created once anyhow.
    has_indexes: AtomicBool,
}

/// The action with what is left of the time limit of the call or the stream.
macro_rules! within {
    ($timeout:expr, $action:expr) => {{
        let action = $action;
        match time_left($timeout)? {
            Some(left) => action.timeout(left),
            None => action,
        }
    }};
}

/// The `timeout` of a command that begins now.
///
/// # Errors
/// The time limit has expired.
fn time_left(timeout: Timeout) -> Result<Option<Duration>> {
    if !timeout.is_set() {
        return Ok(None);
    }
    match timeout.remaining() {
        None => Ok(Some(Duration::ZERO)),
        Some(Duration::ZERO) => Err(expired()),
        left => Ok(left),
    }
}

fn expired() -> Error {
    Error::timed_out_by(
        Some(TimeoutSource::GridFs),
        "before the next command of the GridFS operation was sent",
    )
}

impl Store {
    pub(super) fn new(database: Database, name: String, chunk_size: u32) -> Self {
        let part = database.as_part();
        Self {
            queried: database.collection(&format!("{name}.files")),
            files: part.collection(&format!("{name}.files")),
            chunks: part.collection(&format!("{name}.chunks")),
            database,
            name,
            chunk_size,
            has_indexes: AtomicBool::new(false),
        }
    }

    pub(super) fn executor(&self) -> &Executor {
        self.database.client().executor()
    }

    /// Starts the time limit of a call or a stream.
    ///
    /// # Errors
    /// The client shuts down.
    pub(super) fn start_timeout(&self, own: Option<Duration>) -> Result<Timeout> {
        self.database.start_timeout("gridFs", own, None)
    }

    /// The full time limit of the bucket, for an abort in the background.
    pub(super) fn full_timeout(&self) -> Timeout {
        Timeout::start_with(None, self.database.concerns().timeout)
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.database.concerns().write_concern.is_acknowledged()
    }

    /// Creates the indexes if the bucket is empty ("Before write operations"). Sends nothing if this
    /// has succeeded before.
    async fn ensure_indexes(&self, timeout: Timeout) -> Result<()> {
        if !self.has_indexes.load(Ordering::Relaxed) {
            self.create_indexes(timeout).await?;
            self.has_indexes.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn create_indexes(&self, timeout: Timeout) -> Result<()> {
        let first = self
            .files
            .find_one(doc! {})
            .with_type::<Document>()
            .projection(doc! { "_id": 1 })
            .read_preference(ReadPreference::primary());
        if within!(timeout, first).await?.is_some() {
            return Ok(());
        }
        let of_files = IndexModel::new(doc! { "filename": 1, "uploadDate": 1 });
        create_index(&self.files, of_files, timeout).await?;
        let of_chunks = IndexModel::new(doc! { "files_id": 1, "n": 1 }).unique(true);
        create_index(&self.chunks, of_chunks, timeout).await
    }

    pub(super) async fn insert_chunks(&self, chunks: Vec<RawDocumentBuf>, timeout: Timeout) -> Result<()> {
        self.ensure_indexes(timeout).await?;
        within!(timeout, self.chunks.insert_many(&chunks))
            .await
            .map(|_| ())
    }

    pub(super) async fn insert_file(&self, file: &Document, timeout: Timeout) -> Result<()> {
        self.ensure_indexes(timeout).await?;
        let files = self.files.clone_with_type::<Document>();
        within!(timeout, files.insert_one(file)).await.map(|_| ())
    }

    /// Deletes the files collection document with exactly these fields, if there is one.
    pub(super) async fn delete_file(&self, fields: Document, timeout: Timeout) -> Result<()> {
        // No document has another `_id`, and a filter with it would be an expression.
        if !fields.get("_id").is_some_and(is_valid_id) {
            return Ok(());
        }
        within!(timeout, self.files.delete_one(fields)).await.map(|_| ())
    }

    pub(super) async fn delete_chunks(&self, filter: Document, timeout: Timeout) -> Result<()> {
        within!(timeout, self.chunks.delete_many(filter))
            .await
            .map(|_| ())
    }

    /// Opens a cursor of the chunks of a file that contain the bytes.
    pub(super) async fn find_chunks(
        &self,
        file: &GridFsFile,
        bytes: Range<u64>,
        timeout: Timeout,
    ) -> Result<Cursor<RawDocumentBuf>> {
        let mut filter = doc! { "files_id": file.id.clone() };
        let chunks = file.layout().chunks_of(&bytes);
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut range = Document::new();
        if chunks.start > 0 {
            range.insert("$gte", number(chunks.start));
        }
        if chunks.end < file.layout().chunk_count() {
            range.insert("$lt", number(chunks.end));
        }
        if !range.is_empty() {
            filter.insert("n", range);
        }
        within!(timeout, self.chunks.find(filter).sort(doc! { "n": 1 })).await
    }

    pub(super) async fn file_with_id(&self, id: Bson, timeout: Timeout) -> Result<GridFsFile> {
        let id = existing(id)?;
        let find = self
            .files
            .find_one(doc! { "_id": id.clone() })
            .with_type::<Document>();
        match within!(timeout, find).await? {
            Some(file) => GridFsFile::from_document(file),
            None => Err(GridFsError::IdNotFound(id).into()),
        }
    }

    pub(super) async fn file_with_name(
        &self,
        filename: String,
        revision: Revision,
        timeout: Timeout,
    ) -> Result<GridFsFile> {
        let files = self.files.clone_with_type::<Document>();
        let find = files
            .find_one(doc! { "filename": &filename })
            .sort(doc! { "uploadDate": revision.direction() })
            .skip(revision.skip());
        if let Some(file) = within!(timeout, find).await? {
            return GridFsFile::from_document(file);
        }
        let any = files.find_one(doc! { "filename": &filename });
        if revision.skip() > 0 && within!(timeout, any).await?.is_some() {
            let revision = revision.0;
            return Err(GridFsError::RevisionNotFound { filename, revision }.into());
        }
        Err(GridFsError::NameNotFound(filename).into())
    }

    /// Deletes the files collection document first, so that the file cannot be read while its chunks
    /// are deleted.
    pub(super) async fn delete(&self, id: Bson, timeout: Timeout) -> Result<()> {
        let id = existing(id)?;
        let deleted = within!(timeout, self.files.delete_one(doc! { "_id": id.clone() })).await?;
        self.delete_chunks(doc! { "files_id": id.clone() }, timeout)
            .await?;
        if deleted.deleted_count == 0 && self.is_acknowledged() {
            return Err(GridFsError::IdNotFound(id).into());
        }
        Ok(())
    }

    /// The `_id`s are read from the primary: a secondary may not have all files yet.
    pub(super) async fn delete_by_name(&self, filename: String, timeout: Timeout) -> Result<()> {
        let files = self.files.clone_with_type::<RawDocumentBuf>();
        let find = files
            .find(doc! { "filename": &filename })
            .projection(doc! { "_id": 1 })
            .read_preference(ReadPreference::primary());
        let found = within!(timeout, find).await?.try_collect().await?;
        let mut ids = Vec::with_capacity(found.len());
        for file in &found {
            let bytes = file.as_bytes();
            if let Some(id) = decode_document(bytes)?.remove("_id") {
                ids.push((id, bytes.len()));
            }
        }
        if ids.is_empty() {
            return Err(GridFsError::NameNotFound(filename).into());
        }
        for ids in delete_batches(ids) {
            let of_files = doc! { "_id": { "$in": ids.clone() } };
            within!(timeout, files.delete_many(of_files)).await?;
            let of_chunks = doc! { "files_id": { "$in": ids } };
            self.delete_chunks(of_chunks, timeout).await?;
        }
        Ok(())
    }

    /// Renames a file.
    pub(super) async fn rename(&self, id: Bson, new_filename: &str, timeout: Timeout) -> Result<()> {
        let id = existing(id)?;
        let update = doc! { "$set": { "filename": new_filename } };
        let rename = self.files.update_one(doc! { "_id": id.clone() }, update);
        let renamed = within!(timeout, rename).await?;
        if renamed.matched_count == 0 && self.is_acknowledged() {
            return Err(GridFsError::IdNotFound(id).into());
        }
        Ok(())
    }

    /// Renames all files with a name.
    pub(super) async fn rename_by_name(
        &self,
        filename: String,
        new_filename: &str,
        timeout: Timeout,
    ) -> Result<()> {
        let update = doc! { "$set": { "filename": new_filename } };
        let rename = self.files.update_many(doc! { "filename": &filename }, update);
        let renamed = within!(timeout, rename).await?;
        if renamed.matched_count == 0 && self.is_acknowledged() {
            return Err(GridFsError::NameNotFound(filename).into());
        }
        Ok(())
    }

    pub(super) async fn drop_collections(&self, timeout: Timeout) -> Result<()> {
        within!(timeout, self.files.drop()).await?;
        within!(timeout, self.chunks.drop()).await
    }
}

/// A filter with an `_id` that no file has would be an expression, which can match other files.
fn existing(id: Bson) -> Result<Bson> {
    if is_valid_id(&id) {
        Ok(id)
    } else {
        Err(GridFsError::IdNotFound(id).into())
    }
}

/// Creates an index unless there is one with the same keys.
async fn create_index<T>(collection: &Collection<T>, index: IndexModel, timeout: Timeout) -> Result<()> {
    // Only the keys are compared, so options of any type are accepted.
    let existing = within!(timeout, collection.list_indexes().with_type::<Document>()).await?;
    let existing = existing.try_collect().await?;
    let existing: Vec<Document> = existing
        .into_iter()
        .filter_map(|index| index.get_document("key").ok().cloned())
        .collect();
    if has_index(&existing, &index.keys) {
        return Ok(());
    }
    within!(timeout, collection.create_index(index)).await.map(|_| ())
}

/// The error of an insert of chunks: a command that failed as a whole is the error itself.
pub(super) fn insert_error(error: Error) -> Error {
    match error.kind() {
        ErrorKind::BulkWrite(bulk) if bulk.write_errors.is_empty() && bulk.write_concern_error.is_none() => {
            bulk.interrupted_by.clone().unwrap_or(error)
        }
        _ => error,
    }
}
