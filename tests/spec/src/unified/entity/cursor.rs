//! Cursor entities: cursors and change streams.

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

    /// Returns whether the cursor has ended.
    pub(crate) async fn is_exhausted(&self) -> bool {
        match &*self.open.lock().await {
            Some(Open::Cursor(cursor)) => cursor.is_exhausted(),
            Some(Open::Stream(stream)) => !stream.is_alive(),
            None => true,
        }
    }

    /// Closes the cursor on the server.
    pub(crate) async fn close(&self) {
        match self.open.lock().await.take() {
            Some(Open::Cursor(cursor)) => cursor.close().await,
            Some(Open::Stream(stream)) => stream.close().await,
            None => {}
        }
    }
}
