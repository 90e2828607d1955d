//! The byte stream under a connection.

use std::{
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
    /// Reads once to the end of `buffer`, up to its capacity, and returns the number of bytes; an
    /// orderly end of the stream is an error.
    #[inline]
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<u8>,
        interruption: Option<&Interruption>,
    ) -> Poll<io::Result<usize>> {
        match self.poll_read_some(cx, buffer) {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            ))),
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => pending_unless_interrupted(interruption, cx),
        }
    }

    /// Writes all of `bytes`; `written` counts how many are, from one call to the next.
    #[inline]
    pub(super) fn poll_write_all(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        written: &mut usize,
        interruption: Option<&Interruption>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = bytes.get(*written..) {
            match self.poll_write_some(cx, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => *written += count,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return pending_unless_interrupted(interruption, cx),
            }
        }
        match self {
            Self::Tls(stream) => match stream.poll_flush(cx) {
                Poll::Ready(outcome) => Poll::Ready(outcome),
                Poll::Pending => pending_unless_interrupted(interruption, cx),
            },
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Whether bytes pass through TLS, which takes some that have not been sent.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Whether an idle stream has been closed, has failed, or has unexpected bytes.
    pub(super) fn is_readable(&mut self) -> bool {
        let mut byte = [0];
        let read = match self {
            Self::Tcp(stream) => stream.try_read(&mut byte),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_read(&mut byte),
            Self::Tls(stream) => return stream.is_readable(),
        };
        !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    // The futures keep no state between polls. They read into capacity that is not zeroed first.
    fn poll_read_some(&mut self, cx: &mut Context<'_>, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => pin!(stream.read_buf(buffer)).poll(cx),
            #[cfg(unix)]
            Self::Unix(stream) => pin!(stream.read_buf(buffer)).poll(cx),
            Self::Tls(stream) => stream.poll_read(cx, buffer),
        }
    }

    fn poll_write_some(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => stream.poll_write(cx, bytes),
        }
    }
}
