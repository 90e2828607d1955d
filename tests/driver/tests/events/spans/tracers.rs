//! Tracers other than that of the SDK: one that panics, and one that does not sample some spans.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    options::ClientOptions,
};
use marula_driver_tests::replica_set;
use opentelemetry::{
    Context, InstrumentationScope, KeyValue,
    trace::{
        FutureExt, Span, SpanBuilder, SpanContext, SpanId, Status, TraceContextExt, TraceFlags, TraceId,
        TraceState, Tracer, TracerProvider,
    },
};

/// The method of a span that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Panic {
    Never,
    IsRecording,
    SpanContext,
    Change,
}

/// A provider whose spans count themselves.
#[derive(Clone, Debug)]
struct Provider {
    panic: Panic,
    started: Arc<AtomicUsize>,
    /// Whether spans below a span are not sampled, and have the context of their parent.
    drops_children: bool,
}

#[derive(Debug)]
struct TestSpan {
    panic: Panic,
    context: SpanContext,
    is_recording: bool,
}

impl TestSpan {
    fn panics_in(&self, method: Panic) {
        assert_ne!(self.panic, method, "the tracer panics");
    }
}

impl TracerProvider for Provider {
    type Tracer = Self;

    fn tracer_with_scope(&self, _: InstrumentationScope) -> Self {
        self.clone()
    }
}

impl Tracer for Provider {
    type Span = TestSpan;

    fn build_with_context(&self, _: SpanBuilder, parent: &Context) -> TestSpan {
        let number = self.started.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        let parent = parent.span().span_context().clone();
        let is_dropped = self.drops_children && parent.is_valid();
        TestSpan {
            panic: self.panic,
            is_recording: !is_dropped,
            context: if is_dropped { parent } else { context(number) },
        }
    }
}

fn context(number: u64) -> SpanContext {
    let (trace, span) = (TraceId::from(u128::from(number)), SpanId::from(number));
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE)
}

impl Span for TestSpan {
    fn add_event_with_timestamp<T>(&mut self, _: T, _: SystemTime, _: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        self.panics_in(Panic::Change);
    }

    fn span_context(&self) -> &SpanContext {
        self.panics_in(Panic::SpanContext);
        &self.context
    }

    fn is_recording(&self) -> bool {
        self.panics_in(Panic::IsRecording);
        self.is_recording
    }

    fn set_attribute(&mut self, _: KeyValue) {
        self.panics_in(Panic::Change);
    }

    fn set_status(&mut self, _: Status) {
        self.panics_in(Panic::Change);
    }

    fn update_name<T>(&mut self, _: T)
    where
        T: Into<Cow<'static, str>>,
    {
        self.panics_in(Panic::Change);
    }

    fn add_link(&mut self, _: SpanContext, _: Vec<KeyValue>) {
        self.panics_in(Panic::Change);
    }

    fn end_with_timestamp(&mut self, _: SystemTime) {
        self.panics_in(Panic::Change);
    }
}

fn traced(uri: &str, provider: &Provider) -> Client {
    let mut options = ClientOptions::parse(uri).expect("options");
    options.tracing.enabled = Some(true);
    options.tracing.query_text_max_length = Some(100);
    options.tracing.set_tracer_provider(provider);
    Client::with_options(options).expect("a client")
}

#[tokio::test]
async fn a_tracer_that_panics_does_not_fail_operations() {
    let deployment = replica_set().await;
    for panic in [
        Panic::Never,
        Panic::IsRecording,
        Panic::SpanContext,
        Panic::Change,
    ] {
        let started = Arc::default();
        let provider = Provider {
            panic,
            started: Arc::clone(&started),
            drops_children: false,
        };
        let client = traced(&deployment.server.uri(), &provider);
        let things = client.database("d").collection::<Document>("c");
        things.insert_one(&doc! {}).await.unwrap();
        things.find(doc! { "$nonsense": 1 }).await.unwrap_err();
        let mut tx = client.start_transaction().await.unwrap();
        things.insert_one(&doc! {}).session(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
        assert!(started.load(Ordering::Relaxed) >= 4, "{panic:?}");
    }
}

/// A span that is not sampled does not disable the traces of the client.
#[tokio::test]
async fn operations_are_traced_after_one_that_is_not_sampled() {
    let deployment = replica_set().await;
    let started = Arc::<AtomicUsize>::default();
    let provider = Provider {
        panic: Panic::Never,
        started: Arc::clone(&started),
        drops_children: true,
    };
    let client = traced(&deployment.server.uri(), &provider);
    let database = client.database("d");
    let parent = Context::new().with_remote_span_context(context(u64::MAX));
    let ping = database.run_command(doc! { "ping": 1 });
    ping.into_future().with_context(parent).await.unwrap();
    assert_eq!(started.load(Ordering::Relaxed), 1, "nothing below the operation");
    database.run_command(doc! { "ping": 1 }).await.unwrap();
    assert!(started.load(Ordering::Relaxed) > 1);
}
