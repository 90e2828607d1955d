//! Cursor entities: cursors and change streams.

use std::time::Duration;

use marula_driver::{ChangeStream, Cursor, Error, bson::Document};
use tokio::sync::Mutex;

/// A cursor or a change stream, used by one operation at a time.
#[derive(Debug)]
pub(crate) struct CursorEntity {
    is_change_stream: bool,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
enum Open {
    Cursor(Cursor<Document>),
    Stream(Box<ChangeStream<Document>>),
}

impl CursorEntity {
    pub(crate) fn new(cursor: Cursor<Document>) -> Self {
        Self {
            is_change_stream: false,
            open: Mutex::new(Some(Open::Cursor(cursor))),
        }
    }

    pub(crate) fn of_change_stream(stream: Box<ChangeStream<Document>>) -> Self {
        Self {
            is_change_stream: true,
            open: Mutex::new(Some(Open::Stream(stream))),
        }
    }

    /// The entity type in the test format.
    pub(crate) fn kind(&self) -> &'static str {
        if self.is_change_stream {
            "changeStream"
        } else {
            "cursor"
        }
    }

    /// Advances the cursor by at most one getMore.
    pub(crate) async fn iterate_once(&self) -> Result<Option<Document>, Error> {
        match self.open.lock().await.as_mut() {
            Some(Open::Cursor(cursor)) => cursor.next_if_any().await,
            Some(Open::Stream(stream)) => stream.next_if_any().await,
            None => Ok(None),
        }
    }

    /// Waits for the next document. `None`: the cursor has ended.
    pub(crate) async fn next(&self) -> Result<Option<Document>, Error> {
        match self.open.lock().await.as_mut() {
            Some(Open::Cursor(cursor)) => cursor.try_next().await,
            Some(Open::Stream(stream)) => stream.try_next().await,
            None => Ok(None),
        }
    }

    /// Closes the cursor on the server.
    pub(crate) async fn close(&self, timeout: Option<Duration>) {
        match (self.open.lock().await.take(), timeout) {
            (Some(Open::Cursor(cursor)), Some(timeout)) => cursor.close_within(timeout).await,
            (Some(Open::Cursor(cursor)), None) => cursor.close().await,
            (Some(Open::Stream(stream)), Some(timeout)) => stream.close_within(timeout).await,
            (Some(Open::Stream(stream)), None) => stream.close().await,
            (None, _) => {}
        }
    }
}
