//! A tracer provider that records the spans of clients.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use marula_driver::options::ClientOptions;
use opentelemetry::{
    Context, KeyValue, SpanId, Value,
    trace::{Span as _, SpanKind, Status},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor},
};
use tokio::sync::Notify;

/// Records spans in the order in which they begin.
#[derive(Clone, Debug)]
pub struct SpanRecorder {
    provider: SdkTracerProvider,
    spans: Recorded,
}

/// A span of a client.
#[derive(Clone, Debug)]
pub struct RecordedSpan {
    /// The ID of the span.
    pub id: SpanId,
    /// The ID of its parent; invalid for a root span.
    pub parent: SpanId,
    /// The data of the span. `None` until it has ended.
    pub data: Option<SpanData>,
}

#[derive(Clone, Debug, Default)]
struct Recorded(Arc<Mutex<Vec<RecordedSpan>>>, Arc<Notify>);

impl Default for SpanRecorder {
    fn default() -> Self {
        Self::with_sampler(Sampler::AlwaysOn)
    }
}

impl SpanRecorder {
    /// A recorder whose provider samples spans in this way.
    #[must_use]
    pub fn with_sampler(sampler: Sampler) -> Self {
        let spans = Recorded::default();
        let provider = SdkTracerProvider::builder()
            .with_sampler(sampler)
            .with_span_processor(spans.clone())
            .build();
        Self { provider, spans }
    }

    /// Enables the traces of a client with this recorder.
    pub fn observe(&self, options: &mut ClientOptions) {
        options.tracing.enabled = Some(true);
        options.tracing.set_tracer_provider(&self.provider);
    }

    /// The provider of the recorder.
    #[must_use]
    pub fn provider(&self) -> &SdkTracerProvider {
        &self.provider
    }

    /// All spans, in the order in which they began.
    #[must_use]
    pub fn spans(&self) -> Vec<RecordedSpan> {
        self.spans.lock().clone()
    }

    /// Waits until this many spans have begun and all spans have ended.
    pub async fn wait_for(&self, count: usize) {
        loop {
            let ended = self.spans.1.notified();
            let spans = self.spans();
            if spans.len() >= count && spans.iter().all(|span| span.data.is_some()) {
                return;
            }
            ended.await;
        }
    }

    /// The spans without a parent.
    #[must_use]
    pub fn roots(&self) -> Vec<RecordedSpan> {
        self.children(SpanId::INVALID)
    }

    /// The spans with this parent.
    #[must_use]
    pub fn children(&self, parent: SpanId) -> Vec<RecordedSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.parent == parent);
        spans
    }

    /// The spans as text, each with its children in parentheses: `find d.c (find, getMore)`.
    #[must_use]
    pub fn outline(&self) -> Vec<String> {
        self.roots().iter().map(|span| self.outline_of(span)).collect()
    }

    fn outline_of(&self, span: &RecordedSpan) -> String {
        let children: Vec<String> = self
            .children(span.id)
            .iter()
            .map(|child| self.outline_of(child))
            .collect();
        if children.is_empty() {
            return span.name();
        }
        format!("{} ({})", span.name(), children.join(", "))
    }
}

impl RecordedSpan {
    /// The name, with a question mark if the span has not ended.
    #[must_use]
    pub fn name(&self) -> String {
        self.data
            .as_ref()
            .map_or_else(|| "?".to_owned(), |data| data.name.to_string())
    }

    /// The value of an attribute. `None` also if the span has not ended.
    #[must_use]
    pub fn attribute(&self, key: &str) -> Option<Value> {
        let attributes = &self.data.as_ref()?.attributes;
        let found = attributes.iter().find(|attribute| attribute.key.as_str() == key);
        found.map(|KeyValue { value, .. }| value.clone())
    }

    /// The value of an attribute as text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        self.attribute(key).map(|value| value.to_string())
    }

    /// Whether the status is an error.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(
            self.data.as_ref().map(|data| &data.status),
            Some(Status::Error { .. })
        )
    }

    /// Whether the span has ended, and is of the kind client.
    #[must_use]
    pub fn is_client(&self) -> bool {
        matches!(&self.data, Some(data) if data.span_kind == SpanKind::Client)
    }
}

impl Recorded {
    fn lock(&self) -> MutexGuard<'_, Vec<RecordedSpan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanProcessor for Recorded {
    fn on_start(&self, span: &mut Span, _: &Context) {
        self.lock().push(RecordedSpan {
            id: span.span_context().span_id(),
            parent: SpanId::INVALID,
            data: None,
        });
    }

    fn on_end(&self, data: SpanData) {
        let id = data.span_context.span_id();
        if let Some(span) = self.lock().iter_mut().find(|span| span.id == id) {
            span.parent = data.parent_span_id;
            span.data = Some(data);
        }
        self.1.notify_waiters();
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
