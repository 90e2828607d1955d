//! Unix domain sockets.

use super::Socket;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use tokio::net::UnixListener;

/// A listener on a path. The file is removed on drop.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Binds to a path. A stale socket at the path is replaced; any other file is an error.
    pub(crate) fn bind(path: &Path) -> io::Result<Listener> {
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if is_socket {
            std::fs::remove_file(path)?;
        }
        Ok(Listener {
            listener: UnixListener::bind(path)?,
            path: path.to_owned(),
        })
    }

    pub(crate) async fn accept(&self) -> io::Result<Socket> {
        let (stream, _) = self.listener.accept().await?;
        Ok(Socket::Unix(Box::new(stream)))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
