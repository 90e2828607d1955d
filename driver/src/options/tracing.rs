//! The options of traces ([OpenTelemetry], "Configuration").
//!
//! [OpenTelemetry]:
//! https://github.com/mongodb/specifications/blob/master/source/open-telemetry/open-telemetry.md

#[cfg(feature = "opentelemetry")]
use std::{fmt, sync::Arc};

#[cfg(feature = "opentelemetry")]
use opentelemetry::{
    InstrumentationScope,
    global::{BoxedTracer, ObjectSafeTracer},
    trace::{Tracer, TracerProvider},
};

/// The options of the spans that a client creates. They need the feature `opentelemetry`; see
/// [`traces`](crate::traces).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TracingOptions {
    /// Whether spans are created. Default: the environment variable
    /// `OTEL_RUST_INSTRUMENTATION_MONGODB_ENABLED` (`1`, `true` or `yes`), or `false`. Without the
    /// feature `opentelemetry`, creating a client with `true` fails, and the variable is ignored.
    pub enabled: Option<bool>,
    /// The length in bytes after which the attribute `db.query.text`, the command as relaxed
    /// Extended JSON, is truncated. 0: the attribute is absent. Default: the environment variable
    /// `OTEL_RUST_INSTRUMENTATION_MONGODB_QUERY_TEXT_MAX_LENGTH`, or 0.
    ///
    /// The text contains values of filters and documents. Commands that contain credentials are not
    /// traced at all.
    pub query_text_max_length: Option<usize>,
    /// Creates the spans. `None`: the tracer provider that is global when the client is created.
    #[cfg(feature = "opentelemetry")]
    pub(crate) tracer: Option<ClientTracer>,
}

#[cfg(feature = "opentelemetry")]
impl TracingOptions {
    /// Creates spans with a tracer of this provider. Default: the provider that
    /// [`opentelemetry::global`] has when the client is created.
    ///
    /// Does not enable traces: see [`enabled`](Self::enabled).
    pub fn set_tracer_provider<P>(&mut self, provider: &P)
    where
        P: TracerProvider,
        P::Tracer: Tracer<Span: Send + Sync + 'static> + Send + Sync + 'static,
    {
        self.tracer = Some(ClientTracer::of(provider));
    }
}

/// A tracer of any provider. Clones share the tracer.
#[cfg(feature = "opentelemetry")]
#[derive(Clone)]
pub(crate) struct ClientTracer(pub(crate) Arc<BoxedTracer>);

#[cfg(feature = "opentelemetry")]
impl ClientTracer {
    pub(crate) fn of<P>(provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Tracer<Span: Send + Sync + 'static> + Send + Sync + 'static,
    {
        // Name and version of the handshake (OpenTelemetry specification, "Tracer Attributes").
        let scope = InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let tracer: Box<dyn ObjectSafeTracer + Send + Sync> = Box::new(provider.tracer_with_scope(scope));
        Self(Arc::new(BoxedTracer::new(tracer)))
    }
}

#[cfg(feature = "opentelemetry")]
impl fmt::Debug for ClientTracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTracer")
    }
}

/// Whether both are the same tracer.
#[cfg(feature = "opentelemetry")]
impl PartialEq for ClientTracer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
