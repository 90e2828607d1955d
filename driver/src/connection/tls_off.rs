//! Replaces `tls` in builds without the feature `rustls`.

use std::{
    convert::Infallible,
    io,
    task::{Context, Poll},
};

use tokio::net::TcpStream;

use crate::{Error, Result, ServerAddress, options::TlsOptions, types::deadline::Deadline};

/// Has no values.
#[derive(Clone, Debug)]
pub struct TlsConfig(Infallible);

impl TlsConfig {
    /// # Errors
    /// `Unsupported`, always.
    pub fn new(_: &TlsOptions) -> Result<Self> {
        Err(Error::unsupported(
            "tls=true: marula-driver was built without its feature rustls",
        ))
    }

    #[expect(clippy::unused_async, reason = "the twin waits")]
    pub(super) async fn connect(&self, _: TcpStream, _: &ServerAddress, _: Deadline) -> Result<TlsStream> {
        match self.0 {}
    }
}

/// Has no values.
#[derive(Debug)]
pub(super) struct TlsStream(Infallible);

impl TlsStream {
    pub(super) fn is_readable(&mut self) -> bool {
        match self.0 {}
    }

    pub(super) fn poll_read(&mut self, _: &mut Context<'_>, _: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    pub(super) fn poll_write(&mut self, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    pub(super) fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}
