//! The span of a call.

use tracing::field::{Empty, display};
use tracing::{Instrument, Span};

use super::Boxed;
use super::outcome::kind;
use super::query_shape::{of_filter, of_stages, of_update, of_writes};
use crate::{
    ast::filter::Node,
    base::{
        bson::Document,
        error::{BulkOperation, Result},
    },
    driver::Namespace,
    term::update::Update,
};

/// The span of a call; disabled if no subscriber is interested in it.
#[derive(Clone)]
pub(super) struct CallSpan(Span);

/// The span, with a field that is recorded when its value is known.
macro_rules! call_span {
    ($operation:ident, $($known:tt)*) => {
        tracing::debug_span!(
            target: "marula::call",
            "call",
            operation = $operation,
            $($known)*,
            query = Empty,
            update = Empty,
            error = Empty,
        )
    };
}

impl CallSpan {
    pub(super) fn new(model: &'static str, operation: &'static str, collection: &Namespace) -> Self {
        CallSpan(call_span!(
            operation,
            model,
            collection = %collection,
            otel.name = %format_args!("{operation} {model}")
        ))
    }

    pub(super) fn of_client(operation: &'static str) -> Self {
        CallSpan(call_span!(operation, otel.name = operation))
    }

    pub(super) fn record_filter(&self, filter: Option<&Node>) {
        if let (false, Some(filter)) = (self.0.is_disabled(), filter) {
            self.0.record("query", display(of_filter(filter)));
        }
    }

    pub(super) fn record_stages(&self, stages: &Result<Vec<Document>>) {
        if let (false, Ok(stages)) = (self.0.is_disabled(), stages) {
            self.0.record("query", display(of_stages(stages)));
        }
    }

    pub(super) fn record_update<D>(&self, update: &Update<D>) {
        if !self.0.is_disabled()
            && let Ok((_, changes)) = update.clone().parts()
        {
            self.0.record("update", display(of_update(&changes)));
        }
    }

    pub(super) fn record_writes(&self, writes: &[BulkOperation], has_models: bool) {
        if !self.0.is_disabled() {
            self.0.record("query", display(of_writes(writes, has_models)));
        }
    }

    pub(super) fn record_result<T>(&self, result: &Result<T>) {
        if let Err(error) = result {
            self.0.record("error", kind(error));
        }
    }

    /// Boxed, since the futures of applications would otherwise contain the call several times.
    pub(super) fn observe<'a, T: 'a>(
        self,
        future: impl Future<Output = Result<T>> + Send + 'a,
    ) -> Boxed<'a, T> {
        self.observe_boxed(Box::pin(future))
    }

    pub(super) fn observe_boxed<'a, T: 'a>(self, future: Boxed<'a, T>) -> Boxed<'a, T> {
        if self.0.is_disabled() {
            return future;
        }
        let span = self.0.clone();
        Box::pin(
            async move {
                let result = future.await;
                self.record_result(&result);
                result
            }
            .instrument(span),
        )
    }

    pub(super) fn within<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        future.instrument(self.0.clone())
    }

    pub(super) fn enter<T>(&self, poll: impl FnOnce() -> T) -> T {
        self.0.in_scope(poll)
    }
}
