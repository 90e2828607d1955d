//! [`GridFsUploadStream`].

use std::{
    fmt,
    future::poll_fn,
    io, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use super::{
    background::{Commands, complete},
    store::{Store, insert_error},
};
use crate::{
    Error, Result,
    bson::{Bson, DateTime, Document, ObjectId},
    proto::gridfs::{ChunkBuffer, GridFsFile, InsertedChunks},
    types::{
        in_flight::{Held, OfOperation},
        timeout::Timeout,
    },
};

/// The fields of a new file that the application sets.
#[derive(Clone, Debug)]
pub(super) struct NewFile {
    pub(super) id: Bson,
    pub(super) filename: String,
    pub(super) metadata: Option<Document>,
}

/// A stream that writes a new file; see
/// [`GridFsBucket::open_upload_stream`](crate::GridFsBucket::open_upload_stream).
///
/// It implements the `AsyncWrite` traits of tokio and of crate `futures-io`. Complete chunks are
/// inserted in batches of about 4 MiB while the file is written. The file can be found and read
/// after [`close`](Self::close). The shutdown of tokio's trait and the close of `futures-io` do the
/// same. Flushing inserts the complete chunks; the last bytes remain in memory.
///
/// The errors of the traits contain the [`Error`] of the driver; see
/// [`std::io::Error::get_ref`]. After an error of the server or the connection, each further call
/// returns the same error, and the chunks that were inserted remain in the bucket.
///
/// # Cancel safety
///
/// No bytes are lost if the future of a write or of `close` is dropped; the next call continues.
/// Dropping the stream before it is closed aborts the upload in the background, unless `close` has
/// begun to insert the files collection document: the file is then completed in the background.
///
/// The stream keeps a running command while it is not polled, and the command keeps its connection.
/// With `maxPoolSize=1`, another operation of the same task then waits for a connection until the
/// stream is polled or dropped.
pub struct GridFsUploadStream {
    store: Arc<Store>,
    file: NewFile,
    buffer: ChunkBuffer,
    timeout: Timeout,
    state: State,
    chunks: InsertedChunks,
    /// Selects the files collection document of this upload, if it may have been inserted.
    inserted_file: Option<Document>,
    /// `close` was called, so the last chunk is complete.
    is_ending: bool,
    /// A shutdown waits for the stream until it is closed or aborted, or has failed.
    held: Option<Held<OfOperation>>,
}

enum State {
    Open,
    Inserting(Commands),
    Closing(Commands),
    Aborting(Commands),
    Closed,
    Aborted,
    Failed(Error),
}

impl GridFsUploadStream {
    pub(super) fn new(store: Arc<Store>, file: NewFile, buffer: ChunkBuffer, timeout: Timeout) -> Self {
        let held = Some(store.executor().hold());
        Self {
            held,
            store,
            file,
            buffer,
            timeout,
            state: State::Open,
            chunks: InsertedChunks::default(),
            inserted_file: None,
            is_ending: false,
        }
    }

    /// The `_id` of the file.
    #[must_use]
    pub fn id(&self) -> &Bson {
        &self.file.id
    }

    /// The name of the file.
    #[must_use]
    pub fn filename(&self) -> &str {
        &self.file.filename
    }

    /// The number of bytes that have been written to the stream.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.buffer.layout().length
    }

    /// The number of bytes of each chunk but the last.
    #[must_use]
    pub fn chunk_size(&self) -> u32 {
        self.buffer.layout().chunk_size
    }

    /// Inserts the remaining chunks, then the files collection document, and closes the stream.
    /// Succeeds if the stream is closed already.
    ///
    /// # Errors
    /// The server or the connection failed; the chunks remain in the bucket. The stream was aborted.
    pub async fn close(&mut self) -> Result<()> {
        poll_fn(|cx| self.poll_closed(cx)).await
    }

    /// Deletes the chunks that were inserted, and the files collection document if a failed
    /// [`close`](Self::close) may have inserted it, and closes the stream. If the future is dropped after
    /// its first poll, the next call continues, and dropping the stream aborts the upload in the
    /// background.
    ///
    /// # Errors
    /// The chunks could not be deleted: `abort` can be called again. The time limit (`timeoutMS`) of
    /// the stream includes it, so after its end only
    /// [`GridFsBucket::delete`](crate::GridFsBucket::delete) with the id of the file deletes the
    /// chunks; it also reports that there is no such file. The stream was closed, or is being closed.
    pub async fn abort(&mut self) -> Result<()> {
        poll_fn(|cx| self.poll_aborted(cx)).await
    }

    /// Writes all bytes.
    pub(super) async fn write_bytes(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = poll_fn(|cx| self.poll_written(cx, bytes)).await?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    fn poll_written(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        loop {
            match &self.state {
                State::Open | State::Inserting(_) if self.is_ending => {
                    return Poll::Ready(Err(self.closed()));
                }
                State::Open if self.buffer.is_full() => self.insert_chunks(),
                State::Open => {
                    let mut written = 0;
                    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty())
                        && !self.buffer.is_full()
                    {
                        match self.buffer.push(rest, ObjectId::new) {
                            Ok(count) => written += count,
                            // Bytes may have been taken, so the file would be incomplete.
                            Err(error) => return Poll::Ready(Err(self.fail(error))),
                        }
                    }
                    return Poll::Ready(Ok(written));
                }
                State::Inserting(_) => ready!(self.poll_inserted(cx))?,
                _ => return Poll::Ready(Err(self.closed())),
            }
        }
    }

    fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            match &self.state {
                State::Open if self.buffer.has_complete() => self.insert_chunks(),
                State::Open | State::Closed => return Poll::Ready(Ok(())),
                State::Inserting(_) => ready!(self.poll_inserted(cx))?,
                _ => return Poll::Ready(Err(self.closed())),
            }
        }
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            match &mut self.state {
                State::Open => {
                    self.is_ending = true;
                    if let Err(error) = self.buffer.end() {
                        return Poll::Ready(Err(self.fail(error)));
                    }
                    if self.buffer.has_complete() {
                        self.insert_chunks();
                    } else {
                        self.state = State::Closing(self.insert_file());
                    }
                }
                State::Inserting(_) => ready!(self.poll_inserted(cx))?,
                State::Closing(commands) => {
                    let result = ready!(commands.as_mut().poll(cx));
                    self.held = None;
                    self.state = match result {
                        Ok(()) => State::Closed,
                        Err(error) => {
                            if error.is_duplicate_key() {
                                // The document with this `_id` is that of another file.
                                self.inserted_file = None;
                            }
                            State::Failed(error)
                        }
                    };
                }
                State::Closed => return Poll::Ready(Ok(())),
                State::Aborting(_) | State::Aborted | State::Failed(_) => {
                    return Poll::Ready(Err(self.closed()));
                }
            }
        }
    }

    fn poll_aborted(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            match &mut self.state {
                State::Open | State::Inserting(_) | State::Failed(_) => {
                    self.state = match self.aborting(self.timeout) {
                        Some(commands) => State::Aborting(commands),
                        None => State::Aborted,
                    };
                }
                State::Aborting(commands) => {
                    let result = ready!(commands.as_mut().poll(cx));
                    self.held = None;
                    self.state = match &result {
                        Ok(()) => State::Aborted,
                        // `abort` can be called again.
                        Err(error) => State::Failed(error.clone()),
                    };
                    return Poll::Ready(result);
                }
                State::Aborted => {
                    self.held = None;
                    return Poll::Ready(Ok(()));
                }
                State::Closing(_) | State::Closed => return Poll::Ready(Err(self.closed())),
            }
        }
    }

    /// Begins to insert the complete chunks.
    fn insert_chunks(&mut self) {
        let chunks = self.buffer.take();
        self.chunks.begin_insert(&chunks);
        let (store, timeout) = (Arc::clone(&self.store), self.timeout);
        self.state = State::Inserting(Box::pin(
            async move { store.insert_chunks(chunks, timeout).await },
        ));
    }

    fn poll_inserted(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let State::Inserting(commands) = &mut self.state else {
            return Poll::Ready(Ok(()));
        };
        let result = ready!(commands.as_mut().poll(cx));
        Poll::Ready(match result {
            Ok(()) => {
                if self.store.is_acknowledged() {
                    self.chunks.insert_succeeded();
                }
                self.state = State::Open;
                Ok(())
            }
            Err(error) => Err(self.fail(insert_error(error))),
        })
    }

    /// Returns the error, as each further call does.
    fn fail(&mut self, error: Error) -> Error {
        self.state = State::Failed(error.clone());
        self.held = None;
        error
    }

    /// The command that inserts the files collection document.
    fn insert_file(&mut self) -> Commands {
        let (layout, now) = (self.buffer.layout(), DateTime::now());
        let NewFile {
            id,
            filename,
            metadata,
        } = &self.file;
        self.inserted_file = Some(GridFsFile::new_document(id, filename, layout, now, None));
        let document = GridFsFile::new_document(id, filename, layout, now, metadata.as_ref());
        let (store, timeout) = (Arc::clone(&self.store), self.timeout);
        Box::pin(async move { store.insert_file(&document, timeout).await })
    }

    /// The commands that delete what was inserted, after a running insert. `None` if nothing was.
    ///
    /// The result of the insert of the files collection document can be unknown, or a write concern
    /// error. The document is deleted before its chunks, so that no file without chunks is found.
    fn aborting(&mut self, timeout: Timeout) -> Option<Commands> {
        let running = match mem::replace(&mut self.state, State::Aborted) {
            State::Inserting(commands) => Some(commands),
            _ => None,
        };
        let file = self.inserted_file.clone();
        let chunks = self.chunks.filter(&self.file.id);
        if file.is_none() && chunks.is_none() {
            return None;
        }
        let store = Arc::clone(&self.store);
        Some(Box::pin(async move {
            if let Some(running) = running {
                // The filter contains the chunks of this insert, whatever its result is.
                let _ = running.await;
            }
            if let Some(file) = file {
                store.delete_file(file, timeout).await?;
            }
            match chunks {
                Some(chunks) => store.delete_chunks(chunks, timeout).await,
                None => Ok(()),
            }
        }))
    }

    /// The error of a call on a stream that cannot be written or changed.
    fn closed(&self) -> Error {
        match &self.state {
            State::Failed(error) => error.clone(),
            State::Aborting(_) | State::Aborted => Error::invalid_argument("the upload was aborted"),
            _ => Error::invalid_argument("the upload stream is closed"),
        }
    }
}

impl Drop for GridFsUploadStream {
    fn drop(&mut self) {
        let commands = match &self.state {
            State::Open | State::Inserting(_) => {
                // The stream may be dropped because its time limit has expired.
                self.aborting(self.store.full_timeout())
            }
            State::Closing(_) | State::Aborting(_) => match mem::replace(&mut self.state, State::Closed) {
                State::Closing(commands) | State::Aborting(commands) => Some(commands),
                _ => None,
            },
            State::Closed | State::Aborted | State::Failed(_) => None,
        };
        if let Some(commands) = commands {
            complete(self.store.executor(), commands);
        }
    }
}

impl tokio::io::AsyncWrite for GridFsUploadStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_written(cx, bytes).map_err(Error::into_io)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flushed(cx).map_err(Error::into_io)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_closed(cx).map_err(Error::into_io)
    }
}

impl futures_io::AsyncWrite for GridFsUploadStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_written(cx, bytes).map_err(Error::into_io)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flushed(cx).map_err(Error::into_io)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_closed(cx).map_err(Error::into_io)
    }
}

impl fmt::Debug for GridFsUploadStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridFsUploadStream")
            .field("id", &self.file.id)
            .field("filename", &self.file.filename)
            .field("length", &self.length())
            .finish_non_exhaustive()
    }
}
