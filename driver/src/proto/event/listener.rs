//! Who is told.

use std::{fmt, sync::Arc};

/// A function that is told of events. Clones share it.
///
/// It is called where the event happens, by the task that does the work: it must not block, and it must not wait for the
/// client it listens to. What takes longer belongs into a channel.
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
    #[cfg_attr(not(feature = "tracing"), allow(dead_code, reason = "for logs"))]
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

    /// Tells of an event.
    pub fn tell(&self, event: &E) {
        (self.listen)(event);
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
