//! Polling a future a chosen number of times and dropping it then.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use tokio::sync::Notify;

use crate::Proxy;

/// What holds replies back.
pub trait Gate {
    /// Lets the oldest held piece of a reply go, waiting until there is one.
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

/// Whose replies a proxy holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Only those that the polled future waits for itself: each piece wakes it.
    OfTheFuture,
    /// Also those of monitors and other background work, whose pieces need not wake it.
    OfOthersToo,
}

/// Polls `future` at most `polls` times and drops it; `None` when it was not ready by then. Between two polls there is a
/// wake-up of the future. What `proxy` holds back of replies is let go piece by piece, one piece per wait.
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
                // The piece is on its way to the future. Waiting for it keeps pieces from arriving together.
                woken.0.notified().await;
                break;
            }
        }
    }
    None
}
