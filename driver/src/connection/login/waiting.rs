//! Which logins of a client wait for something outside the driver, for the errors of operations that wait for a connection
//! meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The number of logins that wait. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<AtomicUsize>);

/// A login that waits until this is dropped.
pub(super) struct Wait(Arc<AtomicUsize>);

impl Waiting {
    pub(super) fn begin(&self) -> Wait {
        self.0.fetch_add(1, Ordering::Relaxed);
        Wait(Arc::clone(&self.0))
    }

    pub(super) fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
