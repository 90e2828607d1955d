//! What an application can observe of its typed calls: a span per call (feature `tracing`), and
//! counts and durations (feature `metrics`).
//!
//! Neither contains values of filters, updates or documents. Without the features, nothing is
//! created.
//!
//! # Spans
//!
//! With the feature `tracing`, each typed call runs in a span of the crate `tracing`, so that the
//! log messages of the driver, and the calls of hooks, are inside of it. A stream of documents
//! enters the span for each document it reads. The spans have the level `DEBUG` and the target
//! `marula::call`; if no subscriber is interested in them, a call only checks that. Fields:
//!
//! | field | value |
//! |---|---|
//! | `model` | the name of the model's struct |
//! | `operation` | the name of the method, such as `find` or `update_one` |
//! | `collection` | `database.collection` |
//! | `query` | the filter, or the stages of a pipeline, with `?` for each value: `{total: {$gt: ?}}`; the names of the writes of a bulk write, with the numbers of equal ones: `[insert × 3, update_many]`, at most 20 |
//! | `update` | the update, with `?` for each value: `{$inc: {total: ?}}` |
//! | `error` | the kind of the error, such as `duplicate`, if the call fails |
//! | `otel.name` | operation and model, the name of the span in OpenTelemetry: `find Order` |
//!
//! Paths are not replaced: the key of a map in a path, such as `attributes.color`, is visible.
//!
//! # Metrics
//!
//! With the feature `metrics`, each typed call is recorded by the recorder of the crate `metrics`:
//!
//! | name | kind | labels |
//! |---|---|---|
//! | `marula_calls_total` | counter | `model`, `operation`, `outcome` |
//! | `marula_call_duration_seconds` | histogram | `model`, `operation` |
//!
//! `outcome` is `ok`, the kind of the error, or `dropped` for a call whose future was dropped while it
//! ran. The duration of a stream is the time until its first batch.

#[cfg(feature = "metrics")]
mod meter;
#[cfg(not(feature = "metrics"))]
#[path = "meter_off.rs"]
mod meter;
#[cfg(any(feature = "metrics", feature = "tracing"))]
mod outcome;
#[cfg(feature = "tracing")]
mod query_shape;
#[cfg(feature = "tracing")]
mod span;
#[cfg(not(feature = "tracing"))]
#[path = "span_off.rs"]
mod span;

use std::pin::Pin;

use crate::{
    ast::filter::Node,
    base::{
        bson::Document,
        error::{BulkOperation, Result},
    },
    driver::Namespace,
    models::model::Model,
    term::update::Update,
};

use meter::Meter;
pub(crate) use meter::Running;
use span::CallSpan;

/// A typed call that is observed from its start to its result.
#[derive(Clone)]
pub(crate) struct Call {
    span: CallSpan,
    meter: Meter,
}

impl Call {
    /// A call on the collection of a model.
    #[inline]
    pub(crate) fn new<D: Model>(collection: &Namespace, operation: &'static str) -> Self {
        Call {
            span: CallSpan::new(D::NAME, operation, collection),
            meter: Meter::new(D::NAME, operation),
        }
    }

    /// A call on several collections.
    #[inline]
    pub(crate) fn of_client(operation: &'static str) -> Self {
        Call {
            span: CallSpan::of_client(operation),
            meter: Meter::new("", operation),
        }
    }

    /// With the filter of the call.
    #[inline]
    pub(crate) fn query(self, filter: Option<&Node>) -> Self {
        self.span.record_filter(filter);
        self
    }

    /// With the stages of a pipeline.
    #[inline]
    pub(crate) fn stages(self, stages: &Result<Vec<Document>>) -> Self {
        self.span.record_stages(stages);
        self
    }

    /// With the update of the call.
    #[inline]
    pub(crate) fn update<D>(self, update: &Update<D>) -> Self {
        self.span.record_update(update);
        self
    }

    /// With the names of the writes of a bulk write, and those of their models if there are several.
    #[inline]
    pub(crate) fn writes(self, writes: &[BulkOperation], has_models: bool) -> Self {
        self.span.record_writes(writes, has_models);
        self
    }

    /// Runs the future in the span, and records its result.
    #[inline]
    pub(crate) fn observe<'a, T: 'a>(
        self,
        future: impl Future<Output = Result<T>> + Send + 'a,
    ) -> impl Future<Output = Result<T>> + Send + 'a {
        self.meter.observe(self.span.observe(future))
    }

    /// As [`observe`](Call::observe), for a future that is boxed already.
    #[inline]
    pub(crate) fn observe_boxed<'a, T: 'a>(self, future: Boxed<'a, T>) -> Boxed<'a, T> {
        self.meter.observe_boxed(self.span.observe_boxed(future))
    }

    /// Runs a part of the call in the span.
    #[inline]
    pub(crate) fn within<'a, F: Future + Send + 'a>(
        &self,
        future: F,
    ) -> impl Future<Output = F::Output> + Send + use<'a, F> {
        self.span.within(future)
    }

    /// Starts to measure a future that is polled by hand.
    #[inline]
    pub(crate) fn start(&self) -> Running {
        self.meter.start()
    }

    /// Polls a part of the call inside the span.
    #[inline]
    pub(crate) fn enter<T>(&self, poll: impl FnOnce() -> T) -> T {
        self.span.enter(poll)
    }

    /// Records the result of a future that was polled by hand.
    #[inline]
    pub(crate) fn end<T>(&self, running: &mut Running, result: &Result<T>) {
        self.span.record_result(result);
        running.end(result);
    }
}

/// A boxed future of a call.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;
