//! [`GridFsDownloadStream`].

use std::{
    fmt,
    future::poll_fn,
    io::{self, SeekFrom},
    ops::Range,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::ReadBuf;

use super::{background::Commands, store::Store};
use crate::{
    Cursor, Error, Result,
    bson::RawDocumentBuf,
    error::{ChunkFault, GridFsError},
    proto::gridfs::{ChunkSequence, GridFsFile, chunk_data},
    types::{
        in_flight::{Held, OfOperation},
        timeout::Timeout,
    },
};

/// A stream that reads a file; see
/// [`GridFsBucket::open_download_stream`](crate::GridFsBucket::open_download_stream).
///
/// It implements the traits `AsyncRead`, `AsyncBufRead` and `AsyncSeek` of tokio and of crate
/// `futures-io`. All chunks are read with one cursor, whose batches have at most 16 MiB; `AsyncBufRead`
/// reads them without a copy. A seek opens a new cursor at the next read. Dropping the stream closes
/// the cursor in the background.
///
/// # Errors
///
/// The errors of the traits contain the [`Error`] of the driver; see
/// [`std::io::Error::get_ref`]. A chunk that is missing, that exists twice, that has the wrong size or
/// that is after the end of the file is an error
/// [`GridFsError::InvalidChunk`]. Chunks after the bytes that were read are not checked. After an
/// error, each further read returns the same error; a seek starts again.
///
/// # Cancel safety
///
/// No bytes are lost if the future of a read is dropped. The stream keeps a running command while it
/// is not polled, and the command keeps its connection. With `maxPoolSize=1`, another operation of the
/// same task then waits for a connection until the stream is polled or dropped.
pub struct GridFsDownloadStream {
    store: Arc<Store>,
    file: GridFsFile,
    timeout: Timeout,
    /// The position of the next byte in the file.
    position: u64,
    /// The position after the last byte to read.
    end: u64,
    source: Source,
    /// A shutdown waits for the stream until it has ended.
    held: Option<Held<OfOperation>>,
}

enum Source {
    /// No cursor is open. It is opened at the next read.
    Idle,
    Opening(Commands<Cursor<RawDocumentBuf>>),
    Reading(Reader),
    /// All bytes have been read.
    Ended,
    Failed(Error),
}

/// An open cursor.
struct Reader {
    cursor: Cursor<RawDocumentBuf>,
    sequence: ChunkSequence,
    /// The bytes of the current chunk that have not been read.
    unread: Range<usize>,
}

impl GridFsDownloadStream {
    pub(super) fn new(
        store: Arc<Store>,
        file: GridFsFile,
        timeout: Timeout,
        held: Held<OfOperation>,
    ) -> Self {
        Self {
            held: Some(held),
            store,
            timeout,
            position: 0,
            end: file.length,
            file,
            source: Source::Idle,
        }
    }

    /// The file: its `_id`, length, name, date and metadata.
    #[must_use]
    pub fn file(&self) -> &GridFsFile {
        &self.file
    }

    /// The position of the next byte in the file.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Limits the stream to a range of the file.
    pub(super) fn set_range(&mut self, bytes: Range<u64>) {
        self.position = bytes.start;
        self.end = bytes.end;
        self.source = Source::Idle;
    }

    /// Waits for bytes that have not been read; empty at the end.
    pub(super) async fn next_bytes(&mut self) -> Result<&[u8]> {
        poll_fn(|cx| self.poll_available(cx)).await?;
        Ok(self.available())
    }

    /// Marks bytes of [`next_bytes`](Self::next_bytes) as read.
    pub(super) fn consume_bytes(&mut self, count: usize) {
        if let Source::Reading(reader) = &mut self.source {
            let count = count.min(reader.unread.len());
            reader.unread.start += count;
            self.position += count as u64;
        }
    }

    fn available(&self) -> &[u8] {
        let Source::Reading(reader) = &self.source else {
            return &[];
        };
        let data = reader.cursor.current().ok().and_then(chunk_data);
        data.and_then(|data| data.get(reader.unread.clone()))
            .unwrap_or_default()
    }

    /// Waits until there are unread bytes, or the end.
    fn poll_available(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let result = ready!(self.poll_source(cx));
        if let Err(error) = &result {
            self.source = Source::Failed(error.clone());
            self.held = None;
        }
        Poll::Ready(result)
    }

    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            match &mut self.source {
                // "when downloading a zero length stored file the driver MUST NOT issue a query"
                Source::Idle if self.position >= self.end => {
                    self.held = None;
                    return Poll::Ready(Ok(()));
                }
                Source::Idle => {
                    let (store, file) = (Arc::clone(&self.store), self.file.clone());
                    let (bytes, timeout) = (self.position..self.end, self.timeout);
                    self.source =
                        Source::Opening(Box::pin(
                            async move { store.find_chunks(&file, bytes, timeout).await },
                        ));
                }
                Source::Opening(opening) => {
                    let cursor = ready!(opening.as_mut().poll(cx))?;
                    self.source = Source::Reading(Reader {
                        cursor,
                        sequence: ChunkSequence::new(self.file.layout(), self.position..self.end),
                        unread: 0..0,
                    });
                }
                Source::Reading(reader) => {
                    if !reader.unread.is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                    let invalid = |(n, fault): (u64, ChunkFault)| GridFsError::InvalidChunk {
                        id: self.file.id.clone(),
                        n,
                        fault,
                    };
                    if ready!(reader.cursor.poll_advance(cx))? {
                        let chunk = reader.cursor.current()?;
                        reader.unread = reader.sequence.check(chunk).map_err(invalid)?;
                    } else {
                        reader.sequence.finish().map_err(invalid)?;
                        self.source = Source::Ended;
                        self.held = None;
                    }
                }
                Source::Ended => return Poll::Ready(Ok(())),
                Source::Failed(error) => return Poll::Ready(Err(error.clone())),
            }
        }
    }

    /// Reads the bytes that are available into `buffer`.
    fn poll_bytes(&mut self, cx: &mut Context<'_>, capacity: usize) -> Poll<io::Result<&[u8]>> {
        if capacity > 0 {
            ready!(self.poll_available(cx)).map_err(Error::into_io)?;
        }
        let available = self.available();
        Poll::Ready(Ok(available.get(..capacity).unwrap_or(available)))
    }

    fn seek_to(&mut self, target: SeekFrom) -> io::Result<()> {
        let position = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.end.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let Some(position) = position else {
            let error = Error::invalid_argument("a seek before the start of the file or beyond 2⁶⁴");
            return Err(error.into_io());
        };
        if position != self.position || matches!(self.source, Source::Failed(_)) {
            self.position = position;
            self.source = Source::Idle;
        }
        Ok(())
    }
}

impl tokio::io::AsyncRead for GridFsDownloadStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let bytes = ready!(self.poll_bytes(cx, buffer.remaining()))?;
        let count = bytes.len();
        buffer.put_slice(bytes);
        self.consume_bytes(count);
        Poll::Ready(Ok(()))
    }
}

impl tokio::io::AsyncBufRead for GridFsDownloadStream {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_mut().poll_bytes(cx, usize::MAX)
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.consume_bytes(count);
    }
}

impl tokio::io::AsyncSeek for GridFsDownloadStream {
    fn start_seek(mut self: Pin<&mut Self>, target: SeekFrom) -> io::Result<()> {
        self.seek_to(target)
    }

    fn poll_complete(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position))
    }
}

impl futures_io::AsyncRead for GridFsDownloadStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = ready!(self.poll_bytes(cx, buffer.len()))?;
        let count = bytes.len();
        if let Some(place) = buffer.get_mut(..count) {
            place.copy_from_slice(bytes);
        }
        self.consume_bytes(count);
        Poll::Ready(Ok(count))
    }
}

impl futures_io::AsyncBufRead for GridFsDownloadStream {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_mut().poll_bytes(cx, usize::MAX)
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.consume_bytes(count);
    }
}

impl futures_io::AsyncSeek for GridFsDownloadStream {
    fn poll_seek(mut self: Pin<&mut Self>, _cx: &mut Context<'_>, target: SeekFrom) -> Poll<io::Result<u64>> {
        self.seek_to(target)?;
        Poll::Ready(Ok(self.position))
    }
}

impl fmt::Debug for GridFsDownloadStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridFsDownloadStream")
            .field("id", &self.file.id)
            .field("position", &self.position)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
