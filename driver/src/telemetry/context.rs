//! The context of the caller in a task of its own.

/// Runs the future in the current span of the crate `tracing` and in the current context of the
/// crate `opentelemetry`, so that log messages and spans belong to the call that started it.
pub(crate) fn in_current_context<F: Future>(future: F) -> impl Future<Output = F::Output> {
    #[cfg(feature = "opentelemetry")]
    let future = attached(opentelemetry::Context::current(), future);
    #[cfg(feature = "tracing")]
    let future = tracing::Instrument::in_current_span(future);
    future
}

#[cfg(feature = "opentelemetry")]
async fn attached<F: Future>(context: opentelemetry::Context, future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        let _attached = context.clone().attach();
        future.as_mut().poll(cx)
    })
    .await
}
