//! Placeholder for platforms without Unix domain sockets.

use super::Socket;
use std::io;
use std::path::Path;

/// An uninhabited type; binding always fails.
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
