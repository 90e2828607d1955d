//! The span of a transaction.

use std::fmt;

use opentelemetry::{
    Context,
    trace::{Status, TraceContextExt},
};

use super::{Tracing, error, system};
use crate::{
    Error,
    proto::event::catch_panic,
    types::lock::{Inner, InnerGuard},
};

/// The span of the transaction of a session, if it has one. Dropped before it is ended, it ends with
/// an error.
pub(crate) struct TransactionSpan(Inner<Option<Begun>>);

struct Begun {
    /// The parent of the spans of operations, also after the span has ended: a commit can be
    /// repeated.
    context: Context,
    ended: bool,
    /// The error of the last commit, which can be repeated.
    unsettled: Option<Error>,
}

impl TransactionSpan {
    /// No span.
    pub(crate) fn none() -> Self {
        Self(Inner::new(None))
    }

    /// Starts the span, a child of the current span. Ends that of a preceding transaction.
    pub(crate) fn begin(&self, tracing: &Tracing) {
        let begun = tracing.client().and_then(|client| {
            let parent = Context::current();
            // A span that is not sampled is a parent too: its children are not sampled either.
            let keep = |span, _| Some(parent.with_span(span));
            Some(Begun {
                context: client.start("transaction".to_owned(), vec![system()], &parent, keep)?,
                ended: false,
                unsettled: None,
            })
        });
        // Compared before the lock is taken: most sessions are not traced.
        if begun.is_some() {
            let before = std::mem::replace(&mut *self.lock(), begun);
            if let Some((context, error)) = before.and_then(|mut before| before.take_unended()) {
                end(&context, error.as_ref());
            }
        }
    }

    /// Ends the span after an abort, and after a commit that succeeded or that cannot be repeated.
    /// Ending it again has no effect.
    pub(crate) fn end(&self, error: Option<&Error>) {
        // The tracer is called without the lock.
        let ending = self.lock().as_mut().and_then(Begun::take_unended);
        if let Some((context, _)) = ending {
            end(&context, error);
        }
    }

    /// A commit failed and can be repeated.
    pub(crate) fn commit_failed(&self, error: &Error) {
        if let Some(begun) = self.lock().as_mut() {
            begun.unsettled = Some(error.clone());
        }
    }

    /// The future of a commit or an abort was dropped. Either can be repeated.
    pub(crate) fn interrupted(&self) {
        if let Some(begun) = self.lock().as_mut() {
            begun.unsettled = Some(error::dropped());
        }
    }

    /// Ends the span with the error of the last commit, which is not repeated.
    pub(crate) fn settle(&self) {
        let ending = self.lock().as_mut().and_then(Begun::take_unended);
        if let Some((context, error)) = ending {
            end(&context, error.as_ref());
        }
    }

    pub(super) fn context(&self) -> Option<Context> {
        self.lock().as_ref().map(|begun| begun.context.clone())
    }

    /// No code under the lock leaves the state inconsistent on a panic, so poisoning is ignored.
    fn lock(&self) -> InnerGuard<'_, Option<Begun>> {
        self.0.lock()
    }
}

impl Begun {
    /// Marks the span as ended. Returns also the error of the last commit. `None` if the span has
    /// ended already.
    fn take_unended(&mut self) -> Option<(Context, Option<Error>)> {
        let ended = std::mem::replace(&mut self.ended, true);
        (!ended).then(|| (self.context.clone(), self.unsettled.take()))
    }
}

fn end(context: &Context, error: Option<&Error>) {
    catch_panic(|| {
        let span = context.span();
        if let Some(error) = error {
            span.set_status(Status::error(error.to_string()));
        }
        span.end();
    });
}

impl Drop for TransactionSpan {
    fn drop(&mut self) {
        let unended = self.lock().as_mut().and_then(Begun::take_unended);
        if let Some((context, error)) = unended {
            end(&context, Some(&error.unwrap_or_else(error::dropped)));
        }
    }
}

impl fmt::Debug for TransactionSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransactionSpan")
    }
}
