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

/// As [`run_until_cancelled`], but `work` is polled first: it completes if it can do so at once.
pub(crate) async fn complete_unless_cancelled<T>(
    work: impl Future<Output = T>,
    stop: impl Future,
) -> Option<T> {
    let mut work = pin!(work);
    let mut stop = pin!(stop);
    poll_fn(|cx| {
        if let Poll::Ready(output) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        stop.as_mut().poll(cx).map(|_| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn work_that_is_done_completes_although_it_was_cancelled() {
        assert_eq!(run_until_cancelled(ready(()), ready(1)).await, None);
        assert_eq!(complete_unless_cancelled(ready(1), ready(())).await, Some(1));
        assert_eq!(complete_unless_cancelled(pending::<()>(), ready(())).await, None);
        assert_eq!(
            complete_unless_cancelled(ready(1), pending::<()>()).await,
            Some(1)
        );
    }
}
