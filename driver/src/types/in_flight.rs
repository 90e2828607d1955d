//! What a client has in flight: `Client::shutdown` refuses new operations and waits for the others.

use std::{
    marker::PhantomData,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

use super::lock::{Inner, InnerGuard};

/// The bit of the number of operations that is set while the client shuts down, and afterwards.
const CLOSING: usize = 1 << (usize::BITS - 1);

/// The counters of one client.
///
/// All accesses are sequentially consistent: a change of a counter that a shutdown does not see is
/// followed by a notification.
#[derive(Debug, Default)]
pub struct InFlight {
    /// The running operations, with the bit [`CLOSING`].
    operations: AtomicUsize,
    cursors: AtomicUsize,
    transactions: AtomicUsize,
    background: AtomicUsize,
    shutdowns: Inner<Shutdowns>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Shutdowns {
    /// The number of running calls of `shutdown`.
    running: usize,
    /// One of them has completed.
    is_closed: bool,
    /// The number of those of which half of the deadline has passed.
    urgent: usize,
}

/// The numbers at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlightCounts {
    /// Running operations and open streams of GridFS.
    pub operations: usize,
    /// Open cursors, without those that have no end.
    pub cursors: usize,
    /// Transactions in progress.
    pub transactions: usize,
    /// Tasks of the driver.
    pub background: usize,
}

impl InFlightCounts {
    fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// What a [`Held`] counts as.
pub trait Kind {
    /// The counter.
    fn counter(in_flight: &InFlight) -> &AtomicUsize;
}

/// A stream of GridFS, or a call with several commands.
#[derive(Debug)]
pub(crate) enum OfOperation {}

/// An open cursor.
#[derive(Debug)]
pub(crate) enum OfCursor {}

/// A transaction in progress.
#[derive(Debug)]
pub(crate) enum OfTransaction {}

/// A task of the driver: the end of a dropped cursor, transaction or upload, or a late reply.
#[derive(Debug)]
pub(crate) enum OfBackground {}

impl Kind for OfOperation {
    fn counter(in_flight: &InFlight) -> &AtomicUsize {
        &in_flight.operations
    }
}

impl Kind for OfCursor {
    fn counter(in_flight: &InFlight) -> &AtomicUsize {
        &in_flight.cursors
    }
}

impl Kind for OfTransaction {
    fn counter(in_flight: &InFlight) -> &AtomicUsize {
        &in_flight.transactions
    }
}

impl Kind for OfBackground {
    fn counter(in_flight: &InFlight) -> &AtomicUsize {
        &in_flight.background
    }
}

/// Counts as in flight until it is dropped.
#[derive(Debug)]
pub struct Held<K: Kind> {
    in_flight: Arc<InFlight>,
    kind: PhantomData<K>,
}

impl<K: Kind> Drop for Held<K> {
    fn drop(&mut self) {
        K::counter(&self.in_flight).fetch_sub(1, Ordering::SeqCst);
        if self.in_flight.is_closing() {
            self.in_flight.changed.notify_waiters();
        }
    }
}

/// A running call of `shutdown`. If it is dropped and no other has completed or is running, the
/// client accepts operations again.
#[derive(Debug)]
pub struct Closing<'a> {
    in_flight: &'a InFlight,
    is_urgent: bool,
}

impl InFlight {
    /// Begins an operation. [`leave`](Self::leave) must follow.
    #[inline]
    pub fn enter(&self) {
        self.operations.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends an operation.
    #[inline]
    pub fn leave(&self) {
        if self.operations.fetch_sub(1, Ordering::SeqCst) > CLOSING {
            self.notify();
        }
    }

    #[cold]
    fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Counts as in flight until the value is dropped.
    pub fn hold<K: Kind>(self: &Arc<Self>) -> Held<K> {
        K::counter(self).fetch_add(1, Ordering::SeqCst);
        Held {
            in_flight: Arc::clone(self),
            kind: PhantomData,
        }
    }

    /// Whether operations that begin now are refused.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.operations.load(Ordering::SeqCst) & CLOSING != 0
    }

    /// The current numbers.
    pub fn counts(&self) -> InFlightCounts {
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        InFlightCounts {
            operations: count(&self.operations) & !CLOSING,
            cursors: count(&self.cursors),
            transactions: count(&self.transactions),
            background: count(&self.background),
        }
    }

    /// Begins a shutdown: operations that begin later are refused.
    pub fn begin_shutdown(&self) -> Closing<'_> {
        let mut shutdowns = self.shutdowns();
        shutdowns.running += 1;
        self.operations.fetch_or(CLOSING, Ordering::SeqCst);
        Closing {
            in_flight: self,
            is_urgent: false,
        }
    }

    /// Closes the client without a shutdown: its runtime has ended.
    pub fn close(&self) {
        self.operations.fetch_or(CLOSING, Ordering::SeqCst);
        self.shutdowns().is_closed = true;
        self.notify();
    }

    /// Completes when the client closes soon: commands that must be sent before can wait no longer.
    pub async fn urgent(&self) {
        self.changes_until(|| self.shutdowns().urgent > 0).await;
    }

    async fn changes_until(&self, is_reached: impl Fn() -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Registered before the check, so that no change is missed.
            changed.as_mut().enable();
            if is_reached() {
                return;
            }
            changed.await;
        }
    }

    fn shutdowns(&self) -> InnerGuard<'_, Shutdowns> {
        // No change under the lock can be interrupted by a panic, so a poisoned lock is ignored.
        self.shutdowns.lock()
    }
}

impl Closing<'_> {
    /// Completes when nothing is in flight, or when another shutdown has completed.
    pub async fn wait(&self) {
        let has_ended = || self.in_flight.counts().is_zero() || self.in_flight.shutdowns().is_closed;
        self.in_flight.changes_until(has_ended).await;
    }

    /// The deadline is near. See [`InFlight::urgent`].
    pub fn hurry(&mut self) {
        if !std::mem::replace(&mut self.is_urgent, true) {
            self.in_flight.shutdowns().urgent += 1;
            self.in_flight.notify();
        }
    }

    /// Ends the shutdown: the client is closed.
    pub fn complete(self) {
        self.in_flight.shutdowns().is_closed = true;
        self.in_flight.notify();
    }
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut shutdowns = self.in_flight.shutdowns();
        shutdowns.running -= 1;
        if shutdowns.is_closed {
            return;
        }
        shutdowns.urgent -= usize::from(self.is_urgent);
        if shutdowns.running == 0 {
            self.in_flight.operations.fetch_and(!CLOSING, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        pin::Pin,
        task::{Context, Waker},
    };

    use super::*;

    pub(crate) fn is_ready(future: Pin<&mut impl Future<Output = ()>>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_shutdown_waits_for_each_kind() {
        let in_flight = Arc::<InFlight>::default();
        in_flight.enter();
        let cursor = in_flight.hold::<OfCursor>();
        let transaction = in_flight.hold::<OfTransaction>();
        let background = in_flight.hold::<OfBackground>();
        let closing = in_flight.begin_shutdown();
        assert!(in_flight.is_closing());
        let mut wait = pin!(closing.wait());
        assert!(!is_ready(wait.as_mut()));
        assert_eq!(
            in_flight.counts(),
            InFlightCounts {
                operations: 1,
                cursors: 1,
                transactions: 1,
                background: 1
            }
        );
        in_flight.leave();
        drop(cursor);
        drop(transaction);
        assert!(!is_ready(wait.as_mut()));
        drop(background);
        assert!(is_ready(wait.as_mut()));
    }

    #[test]
    fn a_dropped_shutdown_reopens_the_client_unless_another_runs_or_has_completed() {
        let in_flight = Arc::<InFlight>::default();
        let (first, second) = (in_flight.begin_shutdown(), in_flight.begin_shutdown());
        drop(first);
        assert!(in_flight.is_closing());
        drop(second);
        assert!(!in_flight.is_closing());
        let (first, second) = (in_flight.begin_shutdown(), in_flight.begin_shutdown());
        in_flight.enter();
        let mut wait = pin!(second.wait());
        assert!(!is_ready(wait.as_mut()));
        first.complete();
        assert!(is_ready(wait.as_mut()), "the other shutdown has completed");
        drop(in_flight.begin_shutdown());
        assert!(in_flight.is_closing());
        in_flight.leave();
    }

    #[test]
    fn a_shutdown_is_urgent_until_it_is_dropped() {
        let in_flight = Arc::<InFlight>::default();
        let mut closing = in_flight.begin_shutdown();
        let mut urgent = pin!(in_flight.urgent());
        assert!(!is_ready(urgent.as_mut()));
        closing.hurry();
        assert!(is_ready(urgent.as_mut()));
        drop(closing);
        assert!(!is_ready(pin!(in_flight.urgent())));
    }

    #[test]
    fn a_shutdown_that_is_dropped_leaves_another_as_urgent_as_it_is() {
        let in_flight = Arc::<InFlight>::default();
        let is_urgent = || is_ready(pin!(in_flight.urgent()));
        let (mut first, mut second) = (in_flight.begin_shutdown(), in_flight.begin_shutdown());
        first.hurry();
        first.hurry();
        assert!(is_urgent());
        drop(first);
        assert!(!is_urgent(), "half of the deadline of the second has not passed");
        second.hurry();
        drop(in_flight.begin_shutdown());
        assert!(is_urgent());
        second.complete();
        assert!(is_urgent(), "the client is closed");
    }

    #[test]
    fn a_client_whose_runtime_has_ended_stays_closed() {
        let in_flight = Arc::<InFlight>::default();
        in_flight.close();
        assert!(in_flight.is_closing());
        in_flight.enter();
        let closing = in_flight.begin_shutdown();
        assert!(is_ready(pin!(closing.wait())), "there is nothing to wait for");
        drop(closing);
        assert!(in_flight.is_closing());
        in_flight.leave();
    }
}
