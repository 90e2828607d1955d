//! Who is told.

use std::{fmt, sync::Arc};

/// A function that is told of events. Clones share it.
///
/// It is called where the event happens, by the task that does the work: it must not block, and it must not wait for the
/// client it listens to. What takes longer belongs into a channel.
pub struct EventListener<E>(Arc<dyn Fn(&E) + Send + Sync>);

impl<E> EventListener<E> {
    /// Wraps a function.
    pub fn new(listen: impl Fn(&E) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listen))
    }

    /// Tells of an event.
    pub fn tell(&self, event: &E) {
        (self.0)(event);
    }
}

impl<E> Clone for EventListener<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Whether both are clones of the same.
impl<E> PartialEq for EventListener<E> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<E> fmt::Debug for EventListener<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventListener")
    }
}
