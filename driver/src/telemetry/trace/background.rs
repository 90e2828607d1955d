//! Commands in the background, which no call of the application waits for.

use std::{future::poll_fn, pin::Pin};

use opentelemetry::Context;

/// The mark of a context whose operations have no spans.
struct Untraced;

/// Runs a future whose operations have no spans. An operation that has begun keeps its span.
pub(crate) fn untraced<F: Future + Unpin>(mut future: F) -> impl Future<Output = F::Output> {
    let context = Context::new().with_value(Untraced);
    poll_fn(move |cx| {
        let _current = context.clone().attach();
        Pin::new(&mut future).poll(cx)
    })
}

pub(super) fn is_untraced(context: &Context) -> bool {
    context.get::<Untraced>().is_some()
}
