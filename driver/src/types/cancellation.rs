//! Two futures, of which the first to end wins.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// Runs `work` unless `stop` comes first.
pub async fn run_until_cancelled<T>(
    stop: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
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
