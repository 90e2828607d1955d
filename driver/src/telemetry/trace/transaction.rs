//! The span of a transaction.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use opentelemetry::{
    Context,
    trace::{Status, TraceContextExt},
};

use super::{Tracing, error, system};
use crate::{Error, proto::event::catch_panic};

/// The span of the transaction of a session, if it has one. Dropped before it is ended, it ends with
/// an error.
pub(crate) struct TransactionSpan(Mutex<Option<Begun>>);

struct Begun {
    /// The parent of the spans of operations, also after the span has ended: a commit can be
    /// repeated.
    context: Context,
    ended: bool,
}

impl TransactionSpan {
    /// No span.
    pub(crate) fn none() -> Self {
        Self(Mutex::new(None))
    }

    /// Starts the span, a child of the current span. Ends that of a preceding transaction.
    pub(crate) fn begin(&self, tracing: &Tracing) {
        let begun = tracing.client().and_then(|client| {
            let parent = Context::current();
            let span = client.start("transaction".to_owned(), vec![system()], &parent)?;
            Some(Begun {
                // A span that is not sampled is a parent too: its children are not sampled either.
                context: parent.with_span(span),
                ended: false,
            })
        });
        // Compared before the lock is taken: most sessions are not traced.
        if begun.is_some() {
            let before = std::mem::replace(&mut *self.lock(), begun);
            if let Some(context) = before.and_then(|mut before| before.take_unended()) {
                end(&context, None);
            }
        }
    }

    /// Ends the span after a commit or an abort. Ending it again has no effect.
    pub(crate) fn end(&self, error: Option<&Error>) {
        // The tracer is called without the lock.
        let ending = self.lock().as_mut().and_then(Begun::take_unended);
        if let Some(context) = ending {
            end(&context, error);
        }
    }

    pub(super) fn context(&self) -> Option<Context> {
        self.lock().as_ref().map(|begun| begun.context.clone())
    }

    /// No code under the lock leaves the state inconsistent on a panic, so poisoning is ignored.
    fn lock(&self) -> MutexGuard<'_, Option<Begun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    /// Marks the span as ended. `None` if it has ended already.
    fn take_unended(&mut self) -> Option<Context> {
        let ended = std::mem::replace(&mut self.ended, true);
        (!ended).then(|| self.context.clone())
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
        let begun = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = begun.as_mut().and_then(Begun::take_unended) {
            end(&context, Some(&error::dropped()));
        }
    }
}

impl fmt::Debug for TransactionSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransactionSpan")
    }
}
