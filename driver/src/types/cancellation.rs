//! Runs a future until another future completes.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// Runs `work` to completion, or until `stop` completes; then returns `None`. `stop` is polled
/// first.
pub(crate) async fn run_until_cancelled<T>(stop: impl Future, work: impl Future<Output = T>) -> Option<T> {
    let mut stop = pin!(stop);
    let mut work = pin!(work);
    poll_fn(|cx| {
        if stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}
