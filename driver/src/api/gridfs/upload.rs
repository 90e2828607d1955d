//! The actions that upload files: [`GridFsBucket::open_upload_stream`],
//! [`GridFsBucket::upload_from_stream`] and the like.

use std::{io, sync::Arc, time::Duration};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::{GridFsBucket, GridFsUploadStream, store::Store, timeout_setter, upload_stream::NewFile};
use crate::{
    Error, Result,
    api::command::{Deferred, awaitable},
    bson::{Bson, Document, IntoDocument, ObjectId, RawDocumentBuf, decode_document},
    error::GridFsError,
    proto::gridfs::{ChunkBuffer, MAX_CHUNK_SIZE, is_valid_id_of_new_file},
};

/// The number of bytes that are read from a stream of the application at once.
const READ_SIZE: u32 = 256 * 1024;

impl GridFsBucket {
    /// Opens a stream that writes a new file. Awaiting the action sends nothing. The driver
    /// generates an ObjectId as the `_id` of the file, which is [`GridFsUploadStream::id`].
    pub fn open_upload_stream(&self, filename: impl Into<String>) -> OpenUploadStream<'_> {
        self.open_upload_stream_with_id(ObjectId::new(), filename)
    }

    /// Opens a stream that writes a new file with this `_id`. Awaiting the action sends nothing.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if servers do not accept the value as
    /// `_id`: an array, a regular expression, `undefined`, or a document that has a field whose name
    /// begins with `$` and that is not a DBRef. Also for the timestamp 0, which servers replace.
    pub fn open_upload_stream_with_id(
        &self,
        id: impl Into<Bson>,
        filename: impl Into<String>,
    ) -> OpenUploadStream<'_> {
        OpenUploadStream {
            store: &self.store,
            id: id.into(),
            filename: filename.into(),
            chunk_size: None,
            metadata: None,
            deferred: Deferred::default(),
            timeout: None,
        }
    }

    /// Reads `source` to its end and stores the bytes as a new file. Awaiting the action returns the
    /// `_id` of the file, an ObjectId that the driver generates. A `source` given as `&mut` is not
    /// consumed. If the future is dropped, the upload is aborted in the background.
    ///
    /// # Errors
    /// [`GridFsError::Stream`] if `source` fails; the upload is then aborted.
    ///
    /// ```no_run
    /// # async fn run(bucket: marula_driver::GridFsBucket) -> Result<(), Box<dyn std::error::Error>> {
    /// let id = bucket.upload_from_stream("hello.txt", &b"hello"[..]).await?;
    /// # Ok(()) }
    /// ```
    pub fn upload_from_stream<R>(&self, filename: impl Into<String>, source: R) -> UploadFromStream<'_, R> {
        self.upload_from_stream_with_id(ObjectId::new(), filename, source)
    }

    /// As [`upload_from_stream`](Self::upload_from_stream), with this `_id`. Errors are also those of
    /// [`open_upload_stream_with_id`](Self::open_upload_stream_with_id).
    pub fn upload_from_stream_with_id<R>(
        &self,
        id: impl Into<Bson>,
        filename: impl Into<String>,
        source: R,
    ) -> UploadFromStream<'_, R> {
        UploadFromStream {
            open: self.open_upload_stream_with_id(id, filename),
            source,
        }
    }
}

/// Opens a stream that writes a file. Await it for a [`GridFsUploadStream`]; see
/// [`GridFsBucket::open_upload_stream`].
#[must_use = "nothing happens before the action is awaited"]
pub struct OpenUploadStream<'a> {
    store: &'a Arc<Store>,
    id: Bson,
    filename: String,
    chunk_size: Option<u32>,
    metadata: Option<RawDocumentBuf>,
    deferred: Deferred,
    timeout: Option<Duration>,
}

impl OpenUploadStream<'_> {
    /// `chunkSizeBytes`: the number of bytes of each chunk of this file, from 1 to 16 MiB. Default:
    /// that of the bucket.
    pub fn chunk_size(mut self, bytes: u32) -> Self {
        self.chunk_size = Some(bytes);
        self
    }

    /// Data of the application that is stored with the file. Default: none.
    pub fn metadata(mut self, metadata: impl IntoDocument) -> Self {
        self.metadata = Some(self.deferred.document("metadata", metadata));
        self
    }

    timeout_setter!();

    async fn run(self) -> Result<GridFsUploadStream> {
        self.open()
    }

    fn open(self) -> Result<GridFsUploadStream> {
        self.deferred.into_result()?;
        let chunk_size = self.chunk_size.unwrap_or(self.store.chunk_size);
        if !(1..=MAX_CHUNK_SIZE).contains(&chunk_size) {
            return Err(Error::invalid_argument(format!(
                "the chunk size must be between 1 and {MAX_CHUNK_SIZE} bytes, found {chunk_size}"
            )));
        }
        if !is_valid_id_of_new_file(&self.id) {
            return Err(Error::invalid_argument(format!(
                "a file cannot have the _id {}: use a value that servers accept as _id",
                self.id
            )));
        }
        let buffer = ChunkBuffer::new(&self.id, chunk_size)?;
        let metadata: Option<Document> = self
            .metadata
            .map(|metadata| decode_document(metadata.as_bytes()))
            .transpose()?;
        let timeout = self.store.start_timeout(self.timeout)?;
        let file = NewFile {
            id: self.id,
            filename: self.filename,
            metadata,
        };
        Ok(GridFsUploadStream::new(
            Arc::clone(self.store),
            file,
            buffer,
            timeout,
        ))
    }
}

/// Uploads a file. Await it for the `_id` of the file; see [`GridFsBucket::upload_from_stream`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct UploadFromStream<'a, R> {
    open: OpenUploadStream<'a>,
    source: R,
}

impl<R> UploadFromStream<'_, R> {
    /// `chunkSizeBytes`: the number of bytes of each chunk of this file, from 1 to 16 MiB. Default:
    /// that of the bucket.
    pub fn chunk_size(mut self, bytes: u32) -> Self {
        self.open = self.open.chunk_size(bytes);
        self
    }

    /// Data of the application that is stored with the file. Default: none.
    pub fn metadata(mut self, metadata: impl IntoDocument) -> Self {
        self.open = self.open.metadata(metadata);
        self
    }

    /// `timeoutMS`: the time limit for the whole upload. Reads of the source are not interrupted.
    /// Zero means no limit. Default: that of the bucket.
    pub fn timeout(mut self, value: Duration) -> Self {
        self.open = self.open.timeout(value);
        self
    }
}

impl<R: AsyncRead + Unpin> UploadFromStream<'_, R> {
    async fn run(self) -> Result<Bson> {
        let mut source = self.source;
        let mut upload = self.open.open()?;
        let size = upload.chunk_size().clamp(8 * 1024, READ_SIZE);
        let mut buffer = vec![0; usize::try_from(size).unwrap_or(8 * 1024)];
        loop {
            match source.read(&mut buffer).await {
                Ok(0) => break,
                Ok(count) => upload.write_bytes(buffer.get(..count).unwrap_or(&buffer)).await?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // "the original error should be re-raised"
                    let _ = upload.abort().await;
                    return Err(GridFsError::Stream(Arc::new(error)).into());
                }
            }
        }
        upload.close().await?;
        Ok(upload.id().clone())
    }
}

awaitable!(['a] OpenUploadStream<'a> => GridFsUploadStream);
awaitable!(['a, R: AsyncRead + Unpin + Send + 'a] UploadFromStream<'a, R> => Bson);
