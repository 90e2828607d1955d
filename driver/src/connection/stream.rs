//! The byte stream under a connection.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncReadExt, AsyncWrite},
    net::TcpStream,
};

use super::{
    interruption::{Interruption, pending_unless_interrupted},
    tls::TlsStream,
};

/// A TCP or Unix domain socket, or an encrypted TCP socket.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
    Tls(TlsStream),
}

impl Stream {
    /// Reads once to the end of `buffer`, as much as it has room for, and returns the number of bytes; an orderly end of
    /// the stream is an error.
    pub(super) async fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        interruption: Option<&Interruption>,
    ) -> io::Result<usize> {
        let count = poll_fn(|cx| match self.poll_read(cx, buffer) {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => pending_unless_interrupted(interruption, cx),
        })
        .await?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            ));
        }
        Ok(count)
    }

    /// Writes all of `bytes`.
    pub(super) async fn write_all(
        &mut self,
        mut bytes: &[u8],
        interruption: Option<&Interruption>,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|cx| match self.poll_write(cx, bytes) {
                Poll::Ready(outcome) => Poll::Ready(outcome),
                Poll::Pending => pending_unless_interrupted(interruption, cx),
            })
            .await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = bytes.get(written..).unwrap_or_default();
        }
        match self {
            Self::Tls(stream) => stream.flush().await,
            _ => Ok(()),
        }
    }

    /// Whether an idle stream has been closed, has failed, or holds bytes nobody asked for.
    pub(super) fn has_news(&mut self) -> bool {
        let mut byte = [0];
        let read = match self {
            Self::Tcp(stream) => stream.try_read(&mut byte),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_read(&mut byte),
            Self::Tls(stream) => return stream.has_news(),
        };
        !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    // The futures remember nothing between polls; they read without the room being zeroed before.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => pin!(stream.read_buf(buffer)).poll(cx),
            #[cfg(unix)]
            Self::Unix(stream) => pin!(stream.read_buf(buffer)).poll(cx),
            Self::Tls(stream) => stream.poll_read(cx, buffer),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => stream.poll_write(cx, bytes),
        }
    }
}
