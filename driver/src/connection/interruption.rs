//! Interrupting the use of a connection from another task.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
};

use crate::types::lock::Inner;

/// Shared by a connection and the pool that may interrupt its use. An interruption is permanent.
#[derive(Debug, Default)]
pub struct Interruption {
    interrupted: AtomicBool,
    waiting: Inner<Option<Waker>>,
}

impl Interruption {
    /// Interrupts the use of the connection: the current wait for the socket fails, and so do all
    /// later ones.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
        let waiting = self.waiting.lock().take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Whether it was interrupted. If not, the task will be woken when it is.
    fn poll(&self, cx: &Context<'_>) -> bool {
        // The same task mostly uses a connection for long; its waker need not be cloned again.
        let is_known = self
            .waiting
            .lock()
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()));
        if !is_known {
            // Wakers are code of the executor: they are cloned and dropped without the lock.
            let waker = cx.waker().clone();
            let before = self.waiting.lock().replace(waker);
            drop(before);
        }
        self.is_interrupted()
    }
}

/// What waiting for the socket comes to: still waiting, or failed because the use was interrupted.
pub(super) fn pending_unless_interrupted<T>(
    by: Option<&Interruption>,
    cx: &Context<'_>,
) -> Poll<io::Result<T>> {
    if by.is_some_and(|interruption| interruption.poll(cx)) {
        return Poll::Ready(Err(io::Error::new(
            io::ErrorKind::ConnectionAborted,
            "the connection pool was cleared, since a check of the server timed out",
        )));
    }
    Poll::Pending
}
