//! Counting what is in flight, for a shutdown of the client.

use std::{ops::Deref, sync::Arc};

use super::{Executor, SessionHandle};
use crate::{
    Error, ErrorKind, Result,
    types::in_flight::{Closing, Held, InFlight, InFlightCounts, Kind, OfBackground},
};

/// A running operation.
#[derive(Debug)]
pub(crate) struct Running<'a>(pub(super) &'a Executor);

impl Deref for Running<'_> {
    type Target = Executor;

    #[inline]
    fn deref(&self) -> &Executor {
        self.0
    }
}

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.settings.in_flight.leave();
    }
}

/// Checks that an operation may begin. While the client shuts down, only operations of transactions
/// in progress may. `is_closing`: whether it shuts down.
///
/// # Errors
/// The client was shut down.
#[inline]
pub(crate) fn admit(is_closing: bool, session: Option<&SessionHandle>) -> Result<()> {
    if is_closing {
        admit_in_transaction(session)
    } else {
        Ok(())
    }
}

#[cold]
fn admit_in_transaction(session: Option<&SessionHandle>) -> Result<()> {
    if session.is_some_and(|session| session.lock().open_transaction().is_some()) {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Shutdown))
    }
}

impl Executor {
    /// Counts an operation until the value is dropped. An operation of several commands counts also
    /// between them.
    #[inline]
    pub(crate) fn enter(&self) -> Running<'_> {
        self.settings.in_flight.enter();
        Running(self)
    }

    /// Counts as in flight until the value is dropped.
    pub(crate) fn hold<K: Kind>(&self) -> Held<K> {
        self.settings.in_flight.hold()
    }

    /// The counters of the client.
    pub(crate) fn counters(&self) -> &Arc<InFlight> {
        &self.settings.in_flight
    }

    /// Whether the client shuts down or was shut down.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.settings.in_flight.is_closing()
    }

    /// Begins a shutdown.
    pub(crate) fn begin_shutdown(&self) -> Closing<'_> {
        self.settings.in_flight.begin_shutdown()
    }

    /// What is in flight.
    pub(crate) fn in_flight(&self) -> InFlightCounts {
        self.settings.in_flight.counts()
    }

    /// Runs `work` as a task on the runtime of the client. It counts as in flight at once.
    pub(crate) fn spawn<F>(&self, work: F)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let held = self.hold::<OfBackground>();
        self.topology.runtime().spawn(async move {
            work.await;
            drop(held);
        });
    }
}
