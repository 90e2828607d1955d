//! Polls a future a given number of times, then drops it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use tokio::sync::Notify;

use crate::Proxy;

/// Holds pieces of replies back until they are released.
pub trait Gate {
    /// Releases the oldest piece that is held back. Waits until there is one.
    fn release(&self) -> impl Future<Output = ()>;
}

impl Gate for Proxy {
    fn release(&self) -> impl Future<Output = ()> {
        Self::release(self)
    }
}

struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Which replies a proxy holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Only replies that the polled future waits for: each piece wakes the future.
    OfTheFuture,
    /// Also replies to monitors and other background tasks: a piece may not wake the future.
    OfOthersToo,
}

/// Polls `future` at most `polls` times, each time after it was woken, and drops it. Returns `None`
/// if it is not ready then. Whenever the future waits, `proxy` releases one piece of a reply.
pub async fn poll_times<T>(
    mut future: Pin<Box<dyn Future<Output = T> + '_>>,
    polls: usize,
    proxy: &impl Gate,
    held: Held,
) -> Option<T> {
    let woken = Arc::new(Woken(Notify::new()));
    let waker = Waker::from(Arc::clone(&woken));
    for poll in 1..=polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        if poll == polls {
            break;
        }
        loop {
            tokio::select! {
                biased;
                () = woken.0.notified() => break,
                () = proxy.release() => {}
            }
            if held == Held::OfTheFuture {
                // The released piece reaches the future before the next one is released.
                woken.0.notified().await;
                break;
            }
        }
    }
    None
}

/// Runs `future` until `proxy` has released this number of pieces of replies, and drops it. Returns
/// `None` then. For a future whose commands run in a task: the pieces do not wake the future.
pub async fn run_for_pieces<T>(
    future: Pin<Box<dyn Future<Output = T> + '_>>,
    pieces: usize,
    proxy: &impl Gate,
) -> Option<T> {
    let released = async {
        for _ in 0..pieces {
            proxy.release().await;
        }
    };
    tokio::select! {
        biased;
        output = future => Some(output),
        () = released => None,
    }
}
