//! The context of the caller in a task of its own.

use super::{log::in_current_span, trace::attached_to_current};

/// Runs the future in the current span of the crate `tracing` and in the current context of the
/// crate `opentelemetry`, so that log messages and spans belong to the call that started it.
pub(crate) fn in_current_context<F: Future>(future: F) -> impl Future<Output = F::Output> {
    in_current_span(attached_to_current(future))
}
