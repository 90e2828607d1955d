//! The application's functions that receive events.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// A function that is told of events. Clones share it.
///
/// It is called where the event happens, by the task that does the work: it must not block, and it must not wait for the
/// client it listens to. What takes longer belongs into a channel.
///
/// A panic of the function ends neither the operation nor the background task that emits the event: it is caught after the
/// panic hook has reported it, and the function is called for the events that follow.
pub struct EventListener<E> {
    listen: Arc<dyn Fn(&E) + Send + Sync>,
    /// Asked before an event is made; `None`: always interested.
    interest: Option<fn() -> bool>,
}

impl<E> EventListener<E> {
    /// Wraps a function.
    pub fn new(listen: impl Fn(&E) + Send + Sync + 'static) -> Self {
        Self {
            listen: Arc::new(listen),
            interest: None,
        }
    }

    /// One that comes and goes: while `interest` says no, events need not be made for it.
    #[cfg(feature = "tracing")]
    pub(crate) fn while_interested(
        interest: fn() -> bool,
        listen: impl Fn(&E) + Send + Sync + 'static,
    ) -> Self {
        Self {
            listen: Arc::new(listen),
            interest: Some(interest),
        }
    }

    /// Whether an event would be heard now.
    pub(crate) fn is_interested(&self) -> bool {
        self.interest.is_none_or(|interest| interest())
    }

    /// Calls the function with an event.
    pub fn emit(&self, event: &E) {
        // The driver shares nothing with the function that a panic could leave half-changed.
        let listened = catch_unwind(AssertUnwindSafe(|| (self.listen)(event)));
        if let Err(payload) = listened {
            // A payload whose destructor panics would end the task after all.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        }
    }
}

impl<E> Clone for EventListener<E> {
    fn clone(&self) -> Self {
        Self {
            listen: Arc::clone(&self.listen),
            interest: self.interest,
        }
    }
}

/// Whether both are clones of the same.
impl<E> PartialEq for EventListener<E> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.listen, &other.listen)
    }
}

impl<E> fmt::Debug for EventListener<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventListener")
    }
}
