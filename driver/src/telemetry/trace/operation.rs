//! The span of an operation.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
};

use opentelemetry::{
    Context, KeyValue,
    trace::{Status, TraceContextExt},
};

use super::{ClientTracing, CommandSpan, TracedCommand, error, namespace, system};
use crate::{
    Error,
    proto::{event::catch_panic, open_telemetry::Target},
};

/// The span of one call of the application. Dropped before it is ended, it ends with an error.
///
/// In a box, so that operations without spans contain a pointer.
#[derive(Default)]
pub(crate) struct OperationSpan(Option<Box<Handle>>);

enum Handle {
    /// Of the call, which ends the span.
    Call(Arc<Started>),
    /// Of a cursor that the call opened: only the parent of later commands.
    Parent(Arc<Started>),
}

/// A span that is recorded.
pub(super) struct Started {
    pub(super) client: Arc<ClientTracing>,
    /// The parent of the spans of commands.
    pub(super) context: Context,
    ended: AtomicBool,
    /// Where the error of the last attempt is: a [`Recorded`].
    recorded: AtomicU8,
}

/// Where the error of an attempt was recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Recorded {
    Nowhere,
    /// On the span of its command.
    OnCommand,
    /// The command contains secrets, so its error is not recorded.
    Secret,
}

impl OperationSpan {
    /// No span.
    #[inline]
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(super) fn start(client: &Arc<ClientTracing>, target: Target<'_>, parent: &Context) -> Self {
        let summary = target.summary();
        let mut attributes = Vec::with_capacity(5);
        attributes.push(system());
        namespace(&target, &mut attributes);
        attributes.push(KeyValue::new("db.operation.name", target.name.to_owned()));
        attributes.push(KeyValue::new("db.operation.summary", summary.clone()));
        let context = client.start(summary, attributes, parent, |span, is_recording| {
            is_recording.then(|| parent.with_span(span))
        });
        Self(context.map(|context| Box::new(Handle::Call(Arc::new(Started::new(client, context))))))
    }

    #[inline]
    pub(crate) fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Must be called before each attempt.
    #[inline]
    pub(crate) fn begin_attempt(&self) {
        if let Some(handle) = &self.0 {
            handle.started().set_recorded(Recorded::Nowhere);
        }
    }

    /// Starts the span of a command that was written.
    pub(crate) fn command(&self, command: &TracedCommand<'_>) -> CommandSpan {
        self.0.as_ref().map_or_else(CommandSpan::none, |handle| {
            CommandSpan::start(handle.started(), command)
        })
    }

    /// Ends the span. An error that is not on the span of a command is recorded.
    #[inline]
    pub(crate) fn end(&self, error: Option<&Error>) {
        if let Some(Handle::Call(started)) = self.0.as_deref() {
            started.end(error);
        }
    }

    /// The same span, as the parent of later commands: to end or to drop it has no effect.
    pub(crate) fn share(&self) -> Self {
        let parent = |handle: &Handle| Box::new(Handle::Parent(Arc::clone(handle.started())));
        Self(self.0.as_deref().map(parent))
    }

    /// As [`share`](Self::share), for commands whose errors are not those of the operation.
    pub(crate) fn share_context(&self) -> Self {
        let parent = |handle: &Handle| {
            let started = handle.started();
            let separate = Started::new(&started.client, started.context.clone());
            Box::new(Handle::Parent(Arc::new(separate)))
        };
        Self(self.0.as_deref().map(parent))
    }
}

impl Handle {
    fn started(&self) -> &Arc<Started> {
        match self {
            Self::Call(started) | Self::Parent(started) => started,
        }
    }
}

impl Started {
    fn new(client: &Arc<ClientTracing>, context: Context) -> Self {
        Self {
            client: Arc::clone(client),
            context,
            ended: AtomicBool::new(false),
            recorded: AtomicU8::new(Recorded::Nowhere as u8),
        }
    }

    pub(super) fn set_recorded(&self, recorded: Recorded) {
        self.recorded.store(recorded as u8, Ordering::Relaxed);
    }

    fn is_recorded(&self, recorded: Recorded) -> bool {
        self.recorded.load(Ordering::Relaxed) == recorded as u8
    }

    fn end(&self, error: Option<&Error>) {
        if self.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        catch_panic(|| {
            let span = self.context.span();
            if let Some(error) = error {
                if self.is_recorded(Recorded::Secret) {
                    span.set_status(Status::error(""));
                } else {
                    span.set_status(Status::error(error.to_string()));
                    if self.is_recorded(Recorded::Nowhere) {
                        span.set_attributes(error::attributes(error));
                    }
                }
            }
            span.end();
        });
    }
}

impl Drop for OperationSpan {
    /// The future of the operation was dropped.
    fn drop(&mut self) {
        if let Some(Handle::Call(started)) = self.0.as_deref()
            && !started.ended.load(Ordering::Relaxed)
        {
            started.end(Some(&error::dropped()));
        }
    }
}

impl fmt::Debug for OperationSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperationSpan")
    }
}
