//! Futures with the context of the caller.

use std::{future::poll_fn, pin::pin};

use opentelemetry::Context;

/// Attaches the current context whenever the future is polled.
pub(in crate::telemetry) fn attached_to_current<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let context = Context::current();
    async move {
        let mut future = pin!(future);
        poll_fn(|cx| {
            let _attached = context.clone().attach();
            future.as_mut().poll(cx)
        })
        .await
    }
}
