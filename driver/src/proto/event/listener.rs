//! Listeners of the application for events.

use std::{fmt, sync::Arc};

use crate::types::{lock::assert_unlocked, panics::caught};

/// A function that receives events; see [`event`](crate::event) for an example. Clones share the
/// function.
///
/// It is called synchronously by the task that causes the event. It must not block, and must not
/// wait for operations of the client; send the event over a channel for longer work.
///
/// A panic of the function is caught after the panic hook has run. It does not affect the operation
/// or the background task that emits the event, and the function is called for later events.
pub struct EventListener<E> {
    listen: Arc<dyn Fn(&E) + Send + Sync>,
    /// Called before an event is created. `None`: always interested.
    interest: Option<fn() -> bool>,
}

impl<E> EventListener<E> {
    /// A listener that calls this function for each event.
    pub fn new(listen: impl Fn(&E) + Send + Sync + 'static) -> Self {
        Self {
            listen: Arc::new(listen),
            interest: None,
        }
    }

    /// A listener that is interested only while `interest` returns `true`.
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

    /// Whether events need to be created.
    pub(crate) fn is_interested(&self) -> bool {
        // A `tracing` subscriber may panic when it is asked, e.g. in the task of a monitor.
        self.interest
            .is_none_or(|interest| caught(interest).unwrap_or(false))
    }

    /// Calls the function with an event. The driver does this; it is public for tests of listeners.
    pub fn emit(&self, event: &E) {
        assert_unlocked();
        catch_panic(|| (self.listen)(event));
    }
}

/// Calls a function of the application, or one that calls a `tracing` subscriber, and catches its
/// panic.
pub(crate) fn catch_panic(call: impl FnOnce()) {
    let _ = caught(call);
}

impl<E> Clone for EventListener<E> {
    fn clone(&self) -> Self {
        Self {
            listen: Arc::clone(&self.listen),
            interest: self.interest,
        }
    }
}

/// Whether both are clones of the same listener.
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

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_question_means_no_interest() {
        let listener = EventListener::<()>::while_interested(|| panic!("the subscriber panics"), |()| {});
        assert!(!listener.is_interested());
    }
}
