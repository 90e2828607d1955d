//! Streams of the application, whose panics are errors.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{
    options::encryption::KmsStream,
    types::panics::{Panicked, caught},
};

/// Whether a function or a stream of the application panicked. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct PanicFlag(Arc<AtomicBool>);

impl PanicFlag {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream of the application. After a panic, it is dropped, and all calls fail.
pub(super) struct CaughtStream {
    stream: Option<Box<dyn KmsStream>>,
    panicked: PanicFlag,
}

impl CaughtStream {
    pub(super) fn new(stream: Box<dyn KmsStream>, panicked: PanicFlag) -> Self {
        let stream = Some(stream);
        Self { stream, panicked }
    }

    fn poll<T>(
        &mut self,
        call: impl FnOnce(Pin<&mut Box<dyn KmsStream>>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Some(stream) = &mut self.stream {
            match caught(|| call(Pin::new(stream))) {
                Ok(polled) => return polled,
                Err(Panicked) => {
                    self.panicked.set();
                    self.end();
                }
            }
        }
        Poll::Ready(Err(io::Error::other("the stream of the application panicked")))
    }

    fn end(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = caught(|| drop(stream));
        }
    }
}

impl AsyncRead for CaughtStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for CaughtStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(|stream| stream.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_shutdown(cx))
    }
}

impl Drop for CaughtStream {
    fn drop(&mut self) {
        self.end();
    }
}
