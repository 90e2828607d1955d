//! A queue that delivers events to a listener in the order of the state changes.

use std::{
    collections::VecDeque,
    fmt,
    sync::Condvar,
    thread::{self, ThreadId},
};

use crate::{
    proto::event::EventListener,
    types::lock::{Inner, InnerGuard, assert_unlocked},
};

/// Keeps the order of events across threads.
///
/// A thread that changes the state pushes the events while it holds the lock of that state, so that
/// they are queued in the order of the changes. After releasing the lock it calls
/// [`flush`](Self::flush). If a listener causes further events on its own thread, they are only
/// queued; the call of `flush` that runs the listener emits them.
pub(crate) struct EventQueue<E> {
    listener: EventListener<E>,
    state: Inner<State<E>>,
    /// Notified when a thread has emptied the queue.
    flushed: Condvar,
}

struct State<E> {
    events: VecDeque<E>,
    /// The thread that calls the listener. There is at most one.
    flushing: Option<ThreadId>,
}

impl<E> EventQueue<E> {
    pub(crate) fn new(listener: EventListener<E>) -> Self {
        Self {
            listener,
            state: Inner::new(State {
                events: VecDeque::new(),
                flushing: None,
            }),
            flushed: Condvar::new(),
        }
    }

    /// Whether events need to be created.
    pub(crate) fn is_interested(&self) -> bool {
        self.listener.is_interested()
    }

    /// Queues an event. The caller must hold the lock that orders the changes.
    pub(crate) fn push(&self, event: E) {
        self.lock().events.push_back(event);
    }

    /// Calls the listener with the queued events, or waits until another thread has done so. The
    /// caller must not hold the lock that orders the changes, because the listener may acquire it.
    pub(crate) fn flush(&self) {
        assert_unlocked();
        let own = thread::current().id();
        let mut state = self.lock();
        while let Some(flushing) = state.flushing {
            if flushing == own {
                return;
            }
            state = state.wait(&self.flushed);
        }
        state.flushing = Some(own);
        while let Some(event) = state.events.pop_front() {
            drop(state);
            // `emit` catches panics of the listener.
            self.listener.emit(&event);
            drop(event);
            state = self.lock();
        }
        state.flushing = None;
        drop(state);
        self.flushed.notify_all();
    }

    /// No code under the lock leaves the state inconsistent on a panic, so poisoning is ignored.
    fn lock(&self) -> InnerGuard<'_, State<E>> {
        self.state.lock()
    }
}

impl<E> fmt::Debug for EventQueue<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventQueue")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

    use super::*;

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }

    #[test]
    fn events_of_many_threads_keep_the_order_of_the_changes() {
        let emitted: Arc<Mutex<Vec<u32>>> = Arc::default();
        let sink = Arc::clone(&emitted);
        let queue = EventQueue::new(EventListener::new(move |event: &u32| lock(&sink).push(*event)));
        let state = Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let mut number = lock(&state);
                        *number += 1;
                        let own = *number;
                        queue.push(own);
                        drop(number);
                        queue.flush();
                        assert!(lock(&emitted).contains(&own), "emitted before the call returns");
                    }
                });
            }
        });
        assert_eq!(*lock(&emitted), (1..=2_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_listener_may_cause_events() {
        type Queue = OnceLock<Weak<EventQueue<u32>>>;
        let emitted: Arc<Mutex<Vec<u32>>> = Arc::default();
        let own: Arc<Queue> = Arc::default();
        let (sink, itself) = (Arc::clone(&emitted), Arc::clone(&own));
        let queue = Arc::new(EventQueue::new(EventListener::new(move |event: &u32| {
            lock(&sink).push(*event);
            if let Some(queue) = itself.get().and_then(Weak::upgrade)
                && *event < 3
            {
                queue.push(event + 1);
                queue.flush();
            }
        })));
        assert!(own.set(Arc::downgrade(&queue)).is_ok());
        queue.push(1);
        queue.flush();
        assert_eq!(*lock(&emitted), [1, 2, 3]);
    }
}
