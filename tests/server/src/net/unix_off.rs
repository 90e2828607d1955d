//! Listening on a path, where the platform has no such sockets.

use super::Socket;
use std::io;
use std::path::Path;

/// There is none.
#[derive(Debug)]
pub(crate) enum Listener {}

impl Listener {
    pub(crate) fn bind(_path: &Path) -> io::Result<Listener> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) async fn accept(&self) -> io::Result<Socket> {
        match *self {}
    }
}
