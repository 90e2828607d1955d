//! Spans of operations and commands, with the crate `opentelemetry` ([OpenTelemetry]).
//!
//! A client that is not traced has no tracer, and each operation tests this once. With a tracer that
//! does not record, the span of an operation is created, and nothing below it.
//!
//! [OpenTelemetry]:
//! https://github.com/mongodb/specifications/blob/master/source/open-telemetry/open-telemetry.md

mod attached;
mod background;
mod command;
mod error;
mod operation;
mod transaction;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use opentelemetry::{
    Context, KeyValue, global,
    global::{BoxedSpan, BoxedTracer},
    trace::{Span, SpanBuilder, SpanKind, TraceContextExt, Tracer},
};

use crate::{
    options::{ClientTracer, TracingOptions},
    proto::{
        event::catch_panic,
        open_telemetry::{Target, TracingSettings},
    },
    types::variables::Variables,
};
pub(super) use attached::attached_to_current;
pub(crate) use background::untraced;
pub(crate) use command::{CommandSpan, TracedCommand};
pub(crate) use operation::OperationSpan;
pub(crate) use transaction::TransactionSpan;

/// Creates the spans of a client, if it is traced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracing(Option<Arc<ClientTracing>>);

#[derive(Debug)]
struct ClientTracing {
    tracer: Arc<BoxedTracer>,
    /// `query_text_max_length`.
    text_limit: usize,
    /// Whether the tracer creates no spans, as without a tracer provider.
    is_noop: AtomicBool,
}

impl Tracing {
    /// The options take precedence over the environment variables.
    pub(crate) fn new(options: &TracingOptions, variables: Variables<'_>) -> Self {
        let settings = TracingSettings::resolve(options.enabled, options.query_text_max_length, variables);
        Self(settings.enabled.then(|| {
            let tracer = options.tracer.clone();
            Arc::new(ClientTracing {
                tracer: tracer
                    .unwrap_or_else(|| ClientTracer::of(&global::tracer_provider()))
                    .0,
                text_limit: settings.query_text_max_length,
                is_noop: AtomicBool::new(false),
            })
        }))
    }

    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Starts the span of an operation, a child of the span of its transaction, or else of the current
    /// span.
    pub(crate) fn operation(
        &self,
        name: &str,
        database: &str,
        collection: Option<&str>,
        transaction: Option<&TransactionSpan>,
    ) -> OperationSpan {
        let Some(client) = self.client() else {
            return OperationSpan::none();
        };
        let target = Target {
            name,
            database,
            collection,
        };
        let parent = transaction
            .and_then(TransactionSpan::context)
            .unwrap_or_else(Context::current);
        if background::is_untraced(&parent) {
            return OperationSpan::none();
        }
        OperationSpan::start(client, target, &parent)
    }

    /// `None` if no spans are created.
    fn client(&self) -> Option<&Arc<ClientTracing>> {
        self.0
            .as_ref()
            .filter(|client| !client.is_noop.load(Ordering::Relaxed))
    }
}

impl ClientTracing {
    /// Starts a span of the kind `client`. `keep` receives it, and whether it records. `None` also if
    /// the tracer panics.
    fn start<T>(
        &self,
        name: String,
        attributes: Vec<KeyValue>,
        parent: &Context,
        keep: impl FnOnce(BoxedSpan, bool) -> Option<T>,
    ) -> Option<T> {
        let mut kept = None;
        catch_panic(|| {
            let builder = SpanBuilder::from_name(name)
                .with_kind(SpanKind::Client)
                .with_attributes(attributes);
            let span = self.tracer.build_with_context(builder, parent);
            let is_recording = span.is_recording();
            // Only a tracer without a provider creates a root span without an ID. Below a span it
            // returns the context of the parent, as other tracers may do for spans that are not
            // sampled.
            if !is_recording
                && !span.span_context().is_valid()
                && !parent.is_telemetry_suppressed()
                && !parent.span().span_context().is_valid()
            {
                self.is_noop.store(true, Ordering::Relaxed);
            }
            kept = keep(span, is_recording);
        });
        kept
    }
}

/// `db.system.name`, which all spans have.
fn system() -> KeyValue {
    KeyValue::new("db.system.name", "mongodb")
}

/// `db.namespace` and `db.collection.name`.
fn namespace(target: &Target<'_>, attributes: &mut Vec<KeyValue>) {
    attributes.push(KeyValue::new("db.namespace", target.database.to_owned()));
    if let Some(collection) = target.shown_collection() {
        attributes.push(KeyValue::new("db.collection.name", collection.to_owned()));
    }
}
