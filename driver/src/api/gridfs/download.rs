//! The actions that download files: [`GridFsBucket::open_download_stream`],
//! [`GridFsBucket::download_to_stream`] and the like.

use std::{sync::Arc, time::Duration};

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::{GridFsBucket, GridFsDownloadStream, store::Store};
use crate::{
    Error, Result,
    api::command::awaitable,
    bson::Bson,
    error::GridFsError,
    proto::gridfs::{GridFsFile, Revision},
    types::timeout::Timeout,
};

/// Selects the file to read.
#[derive(Clone, Debug)]
enum Selector {
    Id(Bson),
    Name(String, Revision),
}

impl Selector {
    async fn find(self, store: &Store, timeout: Timeout) -> Result<GridFsFile> {
        match self {
            Self::Id(id) => store.file_with_id(id, timeout).await,
            Self::Name(filename, revision) => store.file_with_name(filename, revision, timeout).await,
        }
    }

    fn set_revision(&mut self, revision: i32) {
        if let Self::Name(_, current) = self {
            *current = Revision(revision);
        }
    }
}

impl GridFsBucket {
    /// Opens a stream that reads a file.
    ///
    /// # Errors
    /// [`GridFsError::IdNotFound`] if there is no such file; [`GridFsError::InvalidFile`] if its
    /// files collection document is invalid.
    pub fn open_download_stream(&self, id: impl Into<Bson>) -> OpenDownloadStream<'_> {
        OpenDownloadStream(Open::new(self, Selector::Id(id.into())))
    }

    /// Opens a stream that reads a revision of the file with this name, by default the most recent.
    ///
    /// # Errors
    /// [`GridFsError::NameNotFound`] if there is no file with the name,
    /// [`GridFsError::RevisionNotFound`] if there is no such revision, and
    /// [`GridFsError::InvalidFile`] if its files collection document is invalid.
    pub fn open_download_stream_by_name(&self, filename: impl Into<String>) -> OpenDownloadStreamByName<'_> {
        OpenDownloadStreamByName(Open::new(
            self,
            Selector::Name(filename.into(), Revision::default()),
        ))
    }

    /// Writes a file to `destination` and flushes it, but does not close it. Awaiting the action
    /// returns the number of bytes. A `destination` given as `&mut` is not consumed.
    ///
    /// # Errors
    /// Those of [`open_download_stream`](Self::open_download_stream) and of the
    /// [reads](GridFsDownloadStream); [`GridFsError::Stream`] if `destination` fails. A part of the
    /// file may have been written.
    ///
    /// ```no_run
    /// # async fn run(bucket: marula_driver::GridFsBucket, id: marula_driver::bson::ObjectId) -> marula_driver::Result<()> {
    /// let mut bytes = Vec::new();
    /// bucket.download_to_stream(id, &mut bytes).await?;
    /// # Ok(()) }
    /// ```
    pub fn download_to_stream<W>(&self, id: impl Into<Bson>, destination: W) -> DownloadToStream<'_, W> {
        DownloadToStream(Download::new(self, Selector::Id(id.into()), destination))
    }

    /// As [`download_to_stream`](Self::download_to_stream) for a revision of the file with this name,
    /// by default the most recent. Errors are also those of
    /// [`open_download_stream_by_name`](Self::open_download_stream_by_name).
    pub fn download_to_stream_by_name<W>(
        &self,
        filename: impl Into<String>,
        destination: W,
    ) -> DownloadToStreamByName<'_, W> {
        let selector = Selector::Name(filename.into(), Revision::default());
        DownloadToStreamByName(Download::new(self, selector, destination))
    }
}

struct Open<'a> {
    store: &'a Arc<Store>,
    selector: Selector,
    timeout: Option<Duration>,
}

impl<'a> Open<'a> {
    fn new(bucket: &'a GridFsBucket, selector: Selector) -> Self {
        Self {
            store: &bucket.store,
            selector,
            timeout: None,
        }
    }

    async fn run(self) -> Result<GridFsDownloadStream> {
        let timeout = self.store.start_timeout(self.timeout)?;
        let held = self.store.executor().hold();
        let file = self.selector.find(self.store, timeout).await?;
        let store = Arc::clone(self.store);
        Ok(GridFsDownloadStream::new(store, file, timeout, held))
    }
}

struct Download<'a, W> {
    open: Open<'a>,
    destination: W,
    start: Option<u64>,
    end: Option<u64>,
}

impl<'a, W> Download<'a, W> {
    fn new(bucket: &'a GridFsBucket, selector: Selector, destination: W) -> Self {
        Self {
            open: Open::new(bucket, selector),
            destination,
            start: None,
            end: None,
        }
    }
}

impl<W: AsyncWrite + Unpin> Download<'_, W> {
    async fn run(self) -> Result<u64> {
        let mut destination = self.destination;
        let mut stream = self.open.run().await?;
        let length = stream.file().length;
        let (start, end) = (self.start.unwrap_or(0), self.end.unwrap_or(length));
        if start > end || end > length {
            let id = &stream.file().id;
            return Err(Error::invalid_argument(format!(
                "the range {start}..{end} is not within the GridFS file {id}, which has {length} bytes"
            )));
        }
        stream.set_range(start..end);
        let mut written = 0;
        loop {
            let bytes = stream.next_bytes().await?;
            if bytes.is_empty() {
                break;
            }
            let count = bytes.len();
            destination.write_all(bytes).await.map_err(stream_error)?;
            stream.consume_bytes(count);
            written += count as u64;
        }
        destination.flush().await.map_err(stream_error)?;
        Ok(written)
    }
}

fn stream_error(error: std::io::Error) -> Error {
    GridFsError::Stream(Arc::new(error)).into()
}

/// Opens a stream that reads a file. Await it for a [`GridFsDownloadStream`]; see
/// [`GridFsBucket::open_download_stream`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct OpenDownloadStream<'a>(Open<'a>);

/// Opens a stream that reads a file by its name. Await it for a [`GridFsDownloadStream`]; see
/// [`GridFsBucket::open_download_stream_by_name`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct OpenDownloadStreamByName<'a>(Open<'a>);

/// Downloads a file. Await it for the number of bytes; see [`GridFsBucket::download_to_stream`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct DownloadToStream<'a, W>(Download<'a, W>);

/// Downloads a file by its name. Await it for the number of bytes; see
/// [`GridFsBucket::download_to_stream_by_name`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct DownloadToStreamByName<'a, W>(Download<'a, W>);

/// The setters of an action, whose options are in `self.0` or in a field of it.
macro_rules! setters {
    (timeout $($field:ident)?) => {
        /// `timeoutMS`: the time limit for the whole download, or for the lifetime of the stream.
        /// Zero means no limit. Default: that of the bucket.
        pub fn timeout(mut self, value: Duration) -> Self {
            self.0.$($field.)?timeout = Some(value);
            self
        }
    };
    (revision $($field:ident)?) => {
        /// The revision: 0 is the original file, 1 the first revision, -1 the most recent revision,
        /// -2 the one before. Default: -1.
        pub fn revision(mut self, revision: i32) -> Self {
            self.0.$($field.)?selector.set_revision(revision);
            self
        }
    };
    (range) => {
        /// The position of the first byte to write. An error if it is after the end of the range or
        /// of the file. Default: 0.
        pub fn start(mut self, position: u64) -> Self {
            self.0.start = Some(position);
            self
        }

        /// The position after the last byte to write. An error if it is after the end of the file.
        /// Default: the length of the file.
        pub fn end(mut self, position: u64) -> Self {
            self.0.end = Some(position);
            self
        }
    };
}

impl OpenDownloadStream<'_> {
    setters!(timeout);

    async fn run(self) -> Result<GridFsDownloadStream> {
        self.0.run().await
    }
}

impl OpenDownloadStreamByName<'_> {
    setters!(revision);
    setters!(timeout);

    async fn run(self) -> Result<GridFsDownloadStream> {
        self.0.run().await
    }
}

impl<W> DownloadToStream<'_, W> {
    setters!(range);
    setters!(timeout open);
}

impl<W> DownloadToStreamByName<'_, W> {
    setters!(revision open);
    setters!(range);
    setters!(timeout open);
}

impl<W: AsyncWrite + Unpin> DownloadToStream<'_, W> {
    async fn run(self) -> Result<u64> {
        self.0.run().await
    }
}

impl<W: AsyncWrite + Unpin> DownloadToStreamByName<'_, W> {
    async fn run(self) -> Result<u64> {
        self.0.run().await
    }
}

awaitable!(['a] OpenDownloadStream<'a> => GridFsDownloadStream);
awaitable!(['a] OpenDownloadStreamByName<'a> => GridFsDownloadStream);
awaitable!(['a, W: AsyncWrite + Unpin + Send + 'a] DownloadToStream<'a, W> => u64);
awaitable!(['a, W: AsyncWrite + Unpin + Send + 'a] DownloadToStreamByName<'a, W> => u64);
