//! Cursor entities.

use std::time::Duration;

use marula_driver::{Cursor, Error, bson::Document};
use tokio::sync::Mutex;

/// A cursor, used by one operation at a time.
#[derive(Debug)]
pub(crate) struct CursorEntity(Mutex<Option<Cursor<Document>>>);

impl CursorEntity {
    pub(crate) fn new(cursor: Cursor<Document>) -> Self {
        Self(Mutex::new(Some(cursor)))
    }

    /// Advances the cursor by at most one getMore.
    pub(crate) async fn iterate_once(&self) -> Result<Option<Document>, Error> {
        match self.0.lock().await.as_mut() {
            Some(cursor) => cursor.next_if_any().await,
            None => Ok(None),
        }
    }

    /// Returns whether the cursor has ended.
    pub(crate) async fn is_exhausted(&self) -> bool {
        self.0.lock().await.as_ref().is_none_or(Cursor::is_exhausted)
    }

    /// Closes the cursor on the server.
    pub(crate) async fn close(&self, timeout: Option<Duration>) {
        match (self.0.lock().await.take(), timeout) {
            (Some(cursor), Some(timeout)) => cursor.close_within(timeout).await,
            (Some(cursor), None) => cursor.close().await,
            (None, _) => {}
        }
    }
}
