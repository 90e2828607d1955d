//! Panics of functions of the application, which are errors of the operation that calls them.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

/// A function of the application panicked. The panic hook has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Calls a function of the application. It shares no state with the driver, so a panic leaves no inconsistent state.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        // The destructor of the payload may panic as well.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        Panicked
    })
}

/// A future of the application. Its panics are its output. A panic of its destructor is ignored.
pub(crate) struct CaughtFuture<T>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T> CaughtFuture<T> {
    /// The future that the function returns.
    pub(crate) fn begin(call: impl FnOnce() -> Pin<Box<dyn Future<Output = T> + Send>>) -> Self {
        Self(caught(call).ok())
    }

    fn end(&mut self) {
        if let Some(future) = self.0.take() {
            let _ = caught(|| drop(future));
        }
    }
}

impl<T> Future for CaughtFuture<T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Ready(Err(Panicked));
        };
        let outcome = match caught(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(Panicked) => Err(Panicked),
        };
        self.end();
        Poll::Ready(outcome)
    }
}

impl<T> Drop for CaughtFuture<T> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsOnDrop;

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[tokio::test]
    async fn a_panic_is_the_output() {
        assert_eq!(CaughtFuture::begin(|| Box::pin(async { 7 })).await, Ok(7));
        let at_once: CaughtFuture<()> = CaughtFuture::begin(|| panic!("at once"));
        assert_eq!(at_once.await, Err(Panicked));
        let later: CaughtFuture<()> = CaughtFuture::begin(|| {
            Box::pin(async {
                tokio::task::yield_now().await;
                panic!("later")
            })
        });
        assert_eq!(later.await, Err(Panicked));
        let payload: CaughtFuture<()> =
            CaughtFuture::begin(|| Box::pin(async { std::panic::panic_any(PanicsOnDrop) }));
        assert_eq!(payload.await, Err(Panicked));
    }

    #[tokio::test]
    async fn a_panic_of_the_destructor_is_ignored() {
        let begin = || {
            CaughtFuture::begin(|| {
                let value = PanicsOnDrop;
                Box::pin(async move {
                    std::future::pending::<()>().await;
                    drop(value);
                })
            })
        };
        drop(begin());
        let mut polled = begin();
        let pending = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut polled).poll(cx).is_pending()));
        assert!(pending.await);
        drop(polled);
    }
}
