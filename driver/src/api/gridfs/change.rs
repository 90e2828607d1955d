//! The actions that delete and rename files: [`GridFsBucket::delete`], [`GridFsBucket::rename`] and
//! the like.

use std::{sync::Arc, time::Duration};

use super::{GridFsBucket, background::CompleteInBackground, store::Store, timeout_setter};
use crate::{Result, api::command::awaitable, bson::Bson};

/// The files that an action changes.
#[derive(Clone, Debug)]
enum Files {
    WithId(Bson),
    WithName(String),
}

impl GridFsBucket {
    /// Deletes a file: its files collection document, then its chunks. If the future is dropped
    /// after the first command was sent, the rest is deleted in the background.
    ///
    /// # Errors
    /// [`GridFsError::IdNotFound`](crate::GridFsError::IdNotFound) if there is no such file. Chunks
    /// with the `_id` are deleted also in that case.
    pub fn delete(&self, id: impl Into<Bson>) -> GridFsDelete<'_> {
        GridFsDelete {
            store: &self.store,
            files: Files::WithId(id.into()),
            timeout: None,
        }
    }

    /// Deletes all files with a name, i.e. all revisions. If the future is dropped after the first
    /// command was sent, the rest is deleted in the background.
    ///
    /// # Errors
    /// [`GridFsError::NameNotFound`](crate::GridFsError::NameNotFound) if there is no such file.
    pub fn delete_by_name(&self, filename: impl Into<String>) -> GridFsDelete<'_> {
        GridFsDelete {
            store: &self.store,
            files: Files::WithName(filename.into()),
            timeout: None,
        }
    }

    /// Renames a file.
    ///
    /// # Errors
    /// [`GridFsError::IdNotFound`](crate::GridFsError::IdNotFound) if there is no such file.
    pub fn rename(&self, id: impl Into<Bson>, new_filename: impl Into<String>) -> GridFsRename<'_> {
        GridFsRename {
            store: &self.store,
            files: Files::WithId(id.into()),
            new_filename: new_filename.into(),
            timeout: None,
        }
    }

    /// Renames all files with a name, i.e. all revisions.
    ///
    /// # Errors
    /// [`GridFsError::NameNotFound`](crate::GridFsError::NameNotFound) if there is no such file.
    pub fn rename_by_name(
        &self,
        filename: impl Into<String>,
        new_filename: impl Into<String>,
    ) -> GridFsRename<'_> {
        GridFsRename {
            store: &self.store,
            files: Files::WithName(filename.into()),
            new_filename: new_filename.into(),
            timeout: None,
        }
    }

    /// Drops the bucket: the files collection, then the chunks collection. If the future is dropped
    /// after the first command was sent, the rest is dropped in the background. A handle that has
    /// written files before does not create the indexes again; use a new handle to write to the
    /// bucket.
    pub fn drop(&self) -> GridFsDrop<'_> {
        GridFsDrop {
            store: &self.store,
            timeout: None,
        }
    }
}

/// Deletes files. Await it; see [`GridFsBucket::delete`] and [`GridFsBucket::delete_by_name`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct GridFsDelete<'a> {
    store: &'a Arc<Store>,
    files: Files,
    timeout: Option<Duration>,
}

impl GridFsDelete<'_> {
    timeout_setter!();

    async fn run(self) -> Result<()> {
        let timeout = self.store.start_timeout(self.timeout)?;
        let store = Arc::clone(self.store);
        CompleteInBackground::new(self.store.database.client(), async move {
            match self.files {
                Files::WithId(id) => store.delete(id, timeout).await,
                Files::WithName(filename) => store.delete_by_name(filename, timeout).await,
            }
        })
        .await
    }
}

/// Renames files. Await it; see [`GridFsBucket::rename`] and [`GridFsBucket::rename_by_name`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct GridFsRename<'a> {
    store: &'a Arc<Store>,
    files: Files,
    new_filename: String,
    timeout: Option<Duration>,
}

impl GridFsRename<'_> {
    timeout_setter!();

    async fn run(self) -> Result<()> {
        let timeout = self.store.start_timeout(self.timeout)?;
        match self.files {
            Files::WithId(id) => self.store.rename(id, &self.new_filename, timeout).await,
            Files::WithName(filename) => {
                self.store
                    .rename_by_name(filename, &self.new_filename, timeout)
                    .await
            }
        }
    }
}

/// Drops a bucket. Await it; see [`GridFsBucket::drop`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct GridFsDrop<'a> {
    store: &'a Arc<Store>,
    timeout: Option<Duration>,
}

impl GridFsDrop<'_> {
    timeout_setter!();

    async fn run(self) -> Result<()> {
        let timeout = self.store.start_timeout(self.timeout)?;
        let store = Arc::clone(self.store);
        CompleteInBackground::new(self.store.database.client(), async move {
            store.drop_collections(timeout).await
        })
        .await
    }
}

awaitable!(['a] GridFsDelete<'a> => ());
awaitable!(['a] GridFsRename<'a> => ());
awaitable!(['a] GridFsDrop<'a> => ());
