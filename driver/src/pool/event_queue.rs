//! Events on their way to the listener, in order.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::ThreadId,
};

use crate::proto::event::EventListener;

/// Keeps the order of events between threads.
///
/// Whoever changes the state pushes its events under the lock of that state, so they are queued in the order of the changes.
/// After letting go of the lock it calls [`flush`](Self::flush), which returns when all events pushed before have been emitted:
/// if another thread is telling, it waits for that one. A listener that causes further events on its own thread only queues
/// them; the call that emitted it emits them next.
pub struct EventQueue<E> {
    listener: EventListener<E>,
    queue: Mutex<VecDeque<E>>,
    turn: Mutex<()>,
    flushing_thread: Mutex<Option<ThreadId>>,
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new(listener: EventListener<E>) -> Self {
        Self {
            listener,
            queue: Mutex::default(),
            turn: Mutex::default(),
            flushing_thread: Mutex::default(),
        }
    }

    /// Whether an event would be heard now.
    pub fn is_interested(&self) -> bool {
        self.listener.is_interested()
    }

    /// Queues an event. To be called under the lock that orders the changes.
    pub fn push(&self, event: E) {
        lock(&self.queue).push_back(event);
    }

    /// Tells the listener whatever is queued. To be called without that lock.
    pub fn flush(&self) {
        let own = std::thread::current().id();
        if *lock(&self.flushing_thread) == Some(own) {
            return;
        }
        let _turn = lock(&self.turn);
        *lock(&self.flushing_thread) = Some(own);
        let _ends = Turn(&self.flushing_thread);
        loop {
            let next = lock(&self.queue).pop_front();
            match next {
                Some(event) => self.listener.emit(&event),
                None => return,
            }
        }
    }
}

/// Ends the turn, also when the listener panics.
struct Turn<'a>(&'a Mutex<Option<ThreadId>>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

impl<E> fmt::Debug for EventQueue<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventQueue")
    }
}

/// Nothing is half-changed under these locks, so a poisoned one is as good as another.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock, Weak};

    use super::*;

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
